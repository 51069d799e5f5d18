import type { Capacity, Verdict } from "../outbox.js";
import type { DiskClaim, Request, Results, Snapshot } from "./protocol.js";
import { isHeld } from "./upkeep.js";

const CLAIMED_AT_ONCE = 256;

/**
 * The file as a relay's store.
 *
 * @param ask asks the thread, or the file itself.
 * @param life this process's life as of the last transaction.
 */
export function claimsThrough(
  ask: <R extends Request>(request: R) => Promise<Results[R["type"]]>,
  { life, leaseMs }: { readonly life: () => Snapshot["life"]; readonly leaseMs: number },
) {
  return {
    async claim({ destination, limit, lanes }: Capacity): Promise<DiskClaim[]> {
      const capacity = { destination, limit: Math.min(limit, CLAIMED_AT_ONCE), lanes };
      const claims = await ask({ type: "claim", capacity });
      return claims.map((claim) => ({ ...claim, isHeld: () => isHeld(claim.life, life(), leaseMs) }));
    },
    settle: ({ event: { id, destination, kind }, seq, owner, interrupted }: DiskClaim, verdict: Verdict) =>
      ask({ type: "settle", claimed: { seq, id, destination, kind, owner, interrupted }, verdict }),
  };
}
