import type { Verdict } from "../outbox.js";
import type { Claims } from "./claims.js";
import type { DeadLetters } from "./dead-letters.js";
import type { Delivered } from "./delivered.js";
import type { Destinations } from "./destinations.js";
import type { KnownIds } from "./known-ids.js";
import type { LiveEvents } from "./live-events.js";
import type { Claimed, Request } from "./protocol.js";

/** Acts on verdicts. Returns whether a verdict had an effect: the event may be another process's by now. */
export function createSettlements(parts: {
  destinations: Destinations;
  ids: KnownIds;
  live: LiveEvents;
  claims: Claims;
  delivered: Delivered;
  dead: DeadLetters;
}) {
  const { destinations, ids, live, claims, delivered, dead } = parts;

  /** Returns whether the event is there, and this process's. */
  function settleAt(claimed: Claimed, verdict: Verdict, now: number): boolean {
    switch (verdict.type) {
      case "delivered": {
        if (live.removeLater(claimed.seq, claimed.id, now)) return true;
        const destination = live.remove(claimed, now);
        if (destination !== undefined) delivered.add(destination, claimed.kind, claimed.id);
        return destination !== undefined;
      }
      case "dead": {
        const row = live.removeOwn(claimed, now);
        if (row) dead.keep(row, verdict, now);
        return row !== undefined;
      }
      case "retry":
        return claims.rest(claimed, verdict.history, now + verdict.inMs);
      case "release":
        return claims.release(claimed, now);
      default:
        return false;
    }
  }

  function settleLost(claimed: Claimed, { type }: Verdict, now: number): boolean {
    const { id, kind, interrupted } = claimed;
    // An attempt that was in doubt before the claim still is.
    if (type === "release" && !interrupted) dead.retryInterrupted(claimed, now);
    if (type !== "delivered") return false;
    // The event is delivered, whichever process says so: another may have taken it over and given it up as unconfirmed, or the
    // file may be new and not know it.
    const destination = destinations.numberOf(claimed.destination);
    if (dead.discard(claimed)) return true;
    if (!ids.learn(destination, id)) return false;
    delivered.add(destination, kind, id);
    return true;
  }

  return ({ claimed, verdict }: Request & { readonly type: "settle" }, now: number): boolean => {
    if (settleAt(claimed, verdict, now)) return true;
    // Saved from a lost file, it has another sequence number here.
    const seq = claims.placeOf(claimed);
    if (seq !== undefined) return settleAt({ ...claimed, seq }, verdict, now);
    return settleLost(claimed, verdict, now);
  };
}
