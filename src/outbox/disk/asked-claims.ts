import type { Endpoint } from "../../service/endpoints.js";
import { precedenceOfClaim } from "../claim-steps.js";
import type { Capacity, Verdict } from "../outbox.js";
import type { DiskClaim, Request, Results, Snapshot } from "./protocol.js";
import { isStillOwned } from "./upkeep.js";

const CLAIMED_AT_ONCE = 256;

/**
 * The file as a relay's store.
 *
 * @param ask asks the thread, or the file itself.
 * @param snapshot of the last transaction.
 */
export function claimsThrough(
  ask: <R extends Request>(request: R) => Promise<Results[R["type"]]>,
  { snapshot, leaseMs }: { readonly snapshot: () => Snapshot; readonly leaseMs: number },
) {
  return {
    /** Whether an event of an endpoint may have to go before one that was claimed, or this one earlier than when it was claimed. */
    outranks(endpoint: Endpoint, claim: DiskClaim): boolean {
      const { raises, waiting } = snapshot();
      return claim.raises !== raises || (waiting[endpoint] ?? 0) > precedenceOfClaim(claim);
    },
    async claim({ destination, limit, lanes }: Capacity): Promise<DiskClaim[]> {
      const capacity = { destination, limit: Math.min(limit, CLAIMED_AT_ONCE), lanes };
      const claims = await ask({ type: "claim", capacity });
      return claims.map((claim) => ({
        ...claim,
        isHeld: () => isStillOwned(claim.leaseEpoch, snapshot().leaseEpoch, leaseMs),
      }));
    },
    settle: ({ event: { id, destination, kind }, seq, owner, interrupted }: DiskClaim, verdict: Verdict) =>
      ask({ type: "settle", claimed: { seq, id, destination, kind, owner, interrupted }, verdict }),
  };
}
