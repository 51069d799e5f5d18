import type { Endpoint } from "../../service/endpoints.js";
import type { Capacity, Verdict } from "../outbox.js";
import type { DiskClaim, Request, Results, Snapshot } from "./protocol.js";
import { rankOf } from "./rows.js";
import { isHeld } from "./upkeep.js";

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
    /** Whether an event of an endpoint may be more urgent than one that was claimed, or as it was when it was claimed. */
    outranks(endpoint: Endpoint, { urgency, raises }: DiskClaim): boolean {
      const { raises: current, urgent } = snapshot();
      return raises !== current || (urgent[endpoint] ?? 0) > rankOf(urgency);
    },
    async claim({ destination, limit, lanes }: Capacity): Promise<DiskClaim[]> {
      const capacity = { destination, limit: Math.min(limit, CLAIMED_AT_ONCE), lanes };
      const claims = await ask({ type: "claim", capacity });
      return claims.map((claim) => ({
        ...claim,
        isHeld: () => isHeld(claim.life, snapshot().life, leaseMs),
      }));
    },
    settle: ({ event: { id, destination, kind }, seq, owner, interrupted }: DiskClaim, verdict: Verdict) =>
      ask({ type: "settle", claimed: { seq, id, destination, kind, owner, interrupted }, verdict }),
  };
}
