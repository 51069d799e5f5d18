import type { Endpoint } from "../../service/endpoints.js";
import type { Clock } from "../../shared/clock.js";
import { harmless } from "../../shared/harmless.js";
import type { Capacity, Deliver, Verdict } from "../outbox.js";
import { createPrefetched } from "./prefetched.js";
import type { DiskClaim, Snapshot } from "./protocol.js";
import { isStillOwned } from "./upkeep.js";

/** The part of delivery that sends events. */
export interface Sender extends Pick<Deliver, "capacity" | "deliver" | "settled"> {
  /** Whether nothing but trials is sent to an endpoint. */
  isPaused(endpoint: Endpoint): boolean;
  /** Whether an endpoint's events may be sent twice. */
  mayGoTwice(endpoint: Endpoint): boolean;
  /** Hears why `deliver` has rejected: by a mistake in this package. */
  onError(error: unknown): void;
}

/** A verdict that is not stored yet. */
export interface Unsettled {
  readonly claim: DiskClaim;
  readonly verdict: Verdict;
}

/** While a slot is free, the next pass waits this share of the last attempt's duration, if another verdict is expected by then. */
const GATHER_SHARE = 0.2;
const GATHER_AT_LEAST_MS = 2;
const GATHER_AT_MOST_MS = 5;
/** While no slot is free, the next pass may wait longer: it could send nothing. */
const GATHER_LONGER_MS = 10;

/**
 * Sends what the loop's passes have claimed, and keeps the verdicts for the next pass.
 *
 * @param parts.snapshot of the last transaction.
 * @param parts.isWell whether the file works.
 * @param parts.onVerdict called when the next pass has something to do.
 */
export function createSending(parts: {
  readonly leaseMs: number;
  readonly clock: Pick<Clock, "monotonic">;
  readonly snapshot: () => Snapshot | undefined;
  readonly isWell: () => boolean;
  readonly onVerdict: () => void;
}) {
  const { leaseMs, clock, snapshot, isWell, onVerdict } = parts;
  let sender: Sender | undefined;
  let unsettled: Unsettled[] = [];
  /** The attempts under way. */
  const begun = new Set<{ readonly beganAt: number }>();
  /** Whether a slot may be free, because no prefetched event has taken it. */
  let isSlotFree = false;
  let lastedMs = 0;
  let hasStopped = false;
  let onLastVerdict = () => {};
  const prefetched = createPrefetched({
    mayGoTwice: (endpoint) => sender?.mayGoTwice(endpoint) ?? false,
    isPaused: (endpoint) => sender?.isPaused(endpoint) ?? false,
  });

  /** Sends claimed events, as many as there are slots for. Returns whether it has sent any. */
  function send(isJustClaimed: boolean): boolean {
    // While the file fails, send nothing: a more urgent event may be in it.
    if (!sender || prefetched.isEmpty || !isWell()) return false;
    const claims = prefetched.take(sender.capacity(), isJustClaimed);
    for (const claim of claims) begin(claim, sender);
    return claims.length > 0;
  }

  function begin(claim: DiskClaim, { deliver, onError }: Sender): void {
    const isHeld = () => {
      const now = snapshot();
      return now !== undefined && isStillOwned(claim.leaseEpoch, now.leaseEpoch, leaseMs);
    };
    const attempt = { beganAt: clock.monotonic() };
    begun.add(attempt);
    void deliver({ ...claim, isHeld })
      .catch((error): Verdict => {
        // It never rejects. If it does, the service may have taken the event.
        harmless(() => onError(error));
        return { type: "dead", reason: "unconfirmed", attempts: claim.history.attempts + 1 };
      })
      .then((verdict) => {
        begun.delete(attempt);
        lastedMs = clock.monotonic() - attempt.beganAt;
        hear({ claim, verdict });
      });
  }

  function hear(unstored: Unsettled): void {
    unsettled.push(unstored);
    // The released event may outrank the prefetched ones.
    if (unstored.verdict.type === "release") prefetched.noteChange();
    if (!hasStopped && !send(false)) isSlotFree = true;
    onVerdict();
    if (begun.size === 0) onLastVerdict();
  }

  function release(claims: readonly DiskClaim[]): void {
    for (const claim of claims) unsettled.push({ claim, verdict: { type: "release" } });
  }

  return {
    get hasStarted(): boolean {
      return sender !== undefined;
    },
    /** How many attempts are under way. */
    get underWay(): number {
      return begun.size;
    },
    /**
     * How long the next pass waits for more verdicts. Attempts that end together share one pass. The next attempts then begin
     * together, and end together too.
     */
    get gatherMs(): number {
      if (begun.size === 0) return 0;
      if (!isSlotFree) return GATHER_LONGER_MS;
      const ms = Math.min(GATHER_AT_MOST_MS, Math.max(GATHER_AT_LEAST_MS, lastedMs * GATHER_SHARE));
      const endsNow = clock.monotonic() - lastedMs;
      return [...begun].some(({ beganAt }) => Math.abs(beganAt - endsNow) <= ms) ? ms : 0;
    },
    /** Whether verdicts wait for a pass. */
    get hasVerdicts(): boolean {
      return unsettled.length > 0;
    },
    start(by: Sender): void {
      sender = by;
    },
    /** The order of the events may have changed: nothing more is sent before the next claim. */
    noteChange: prefetched.noteChange,
    /** An event may have become deliverable. */
    wake(): void {
      prefetched.noteChange();
      isSlotFree = true;
    },
    /** What the next pass claims, or `undefined`. Releases the prefetched events first: `takeVerdicts` has their releases. */
    wantedClaims(): Capacity | undefined {
      if (!sender || hasStopped) return undefined;
      const capacity = sender.capacity();
      const isDue = isSlotFree || prefetched.hasChanged || prefetched.areFew;
      const mayClaim = isDue && capacity.limit > 0 && capacity.lanes.length > 0;
      isSlotFree = false;
      if (prefetched.areUnfit) prefetched.noteChange();
      if (mayClaim || prefetched.areUnfit) release(prefetched.takeAll());
      return mayClaim ? prefetched.wanted(capacity) : undefined;
    },
    /** Takes out the verdicts that wait for a pass. */
    takeVerdicts: (): readonly Unsettled[] => unsettled.splice(0),
    /** The pass has failed: the next one stores these verdicts. */
    keepVerdicts(verdicts: readonly Unsettled[]): void {
      unsettled = [...verdicts, ...unsettled];
      prefetched.noteChange();
    },
    /** The pass has claimed these events. Sends as many as there are slots for. Releases payments without a slot; the others are prefetched. */
    sendClaimed(claimed: readonly DiskClaim[], asked: Capacity): void {
      prefetched.add(claimed, asked);
      send(true);
      const inDoubt = prefetched.takeCostly();
      if (inDoubt.length === 0) return;
      release(inDoubt);
      onVerdict();
    },
    /** The verdict is stored. */
    tellSettled({ claim, verdict }: Unsettled): void {
      sender?.settled(claim.event, claim.history.attempts, verdict);
    },
    /** Sends and claims nothing more. Resolves once no attempt is under way. */
    stop(): Promise<void> {
      hasStopped = true;
      release(prefetched.takeAll());
      if (begun.size === 0) return Promise.resolve();
      return new Promise((resolve) => {
        onLastVerdict = resolve;
      });
    },
  };
}
