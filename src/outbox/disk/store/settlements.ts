import type { QueueClaim } from "../../queue/leases.js";
import type { Queue } from "../../queue/queue.js";
import type { RequestOf } from "./requests.js";

/** Acts on verdicts in a pass. Resolves to whether each had an effect. */
export function createSettlements(queue: Pick<Queue, "settle" | "reviveInterrupted" | "underWay">) {
  async function settle(asked: readonly RequestOf<"settle">[]): Promise<boolean[]> {
    if (asked.length === 0) return [];
    const settled = asked.map(
      ({ claimed, verdict, isRepeated }) => [ownClaim(claimed, isRepeated), verdict] as const,
    );
    const effects = await queue.settle(settled);
    for (const { claimed, verdict, isHeld } of asked) {
      // Another process may have made a dead letter of a payment that was never sent.
      const isUnsent = verdict.type === "release" && !claimed.interrupted;
      if (isUnsent && !isHeld) await queue.reviveInterrupted(claimed.event);
    }
    return effects;
  }

  /** Its number may be another one by now: that of the file before. */
  function ownClaim(claimed: RequestOf<"settle">["claimed"], isRepeated: boolean): QueueClaim {
    const { id } = claimed.event;
    const known = [...queue.underWay.values()].find(({ event }) => event.id === id);
    const claim = known ?? { ...claimed, leasedSince: undefined, isHeld: () => false };
    return Object.assign(claim as QueueClaim, isRepeated && { isAsked: true });
  }

  return settle;
}
