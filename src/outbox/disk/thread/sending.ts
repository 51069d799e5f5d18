import type { Endpoint } from "../../../service/endpoints.js";
import type { Clock } from "../../../shared/clock.js";
import { harmless } from "../../../shared/harmless.js";
import type { Capacity, Deliver, Verdict } from "../../claim.js";
import { isStillOwned } from "../queue/lease-epoch.js";
import type { DiskClaim, Snapshot } from "../queue/requests.js";
import { createPrefetched } from "./prefetched.js";

export interface Sender extends Pick<Deliver, "capacity" | "deliver" | "settled"> {
  /** Whether the endpoint gets only probes. */
  isPaused(endpoint: Endpoint): boolean;
  /** Whether the endpoint's events may be sent twice. */
  mayGoTwice(endpoint: Endpoint): boolean;
  /** Called if `deliver` rejects, by a mistake in this package. */
  onError(error: unknown): void;
}

interface Unsettled {
  readonly claim: DiskClaim;
  readonly verdict: Verdict;
}

/**
 * While a slot is free, the next pass waits this share of the last attempt's duration, if another
 * verdict is expected by then. Chosen by measurement.
 */
const GATHER_SHARE = 0.2;
const GATHER_AT_LEAST_MS = 2;
const GATHER_AT_MOST_MS = 5;
/** While no slot is free, the next pass may wait longer: it could send nothing. */
const GATHER_LONGER_MS = 10;

/**
 * Sends what passes have claimed, and keeps verdicts for the next pass: `onVerdict` says that it
 * has something to do. `isWell`: the file works.
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
  const prefetched = createPrefetched<DiskClaim>({
    mayGoTwice: (endpoint) => sender?.mayGoTwice(endpoint) ?? false,
    isPaused: (endpoint) => sender?.isPaused(endpoint) ?? false,
  });

  /** Sends as many as there are slots for. Returns whether there were any. */
  function send(isJustClaimed: boolean): boolean {
    // A more urgent event may be in a file that fails.
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
        // `deliver` never rejects. If it does, the service may have the event.
        harmless(() => onError(error));
        return { type: "dead", reason: "unconfirmed", attempts: claim.history.attempts + 1 };
      })
      .then((verdict) => {
        begun.delete(attempt);
        lastedMs = clock.monotonic() - attempt.beganAt;
        keep({ claim, verdict });
      });
  }

  function keep(unstored: Unsettled): void {
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
    get underWay(): number {
      return begun.size;
    },
    /**
     * How long the next pass waits for more verdicts. Attempts that end together share one pass:
     * then the next begin together, and end together, too.
     */
    get gatherMs(): number {
      if (begun.size === 0) return 0;
      if (!isSlotFree) return GATHER_LONGER_MS;
      const ms = Math.min(GATHER_AT_MOST_MS, Math.max(GATHER_AT_LEAST_MS, lastedMs * GATHER_SHARE));
      const endsNow = clock.monotonic() - lastedMs;
      return [...begun].some(({ beganAt }) => Math.abs(beganAt - endsNow) <= ms) ? ms : 0;
    },
    get hasVerdicts(): boolean {
      return unsettled.length > 0;
    },
    start(by: Sender): void {
      sender = by;
    },
    /** The order may have changed: nothing more is sent before the next claim. */
    noteChange: prefetched.noteChange,
    wake(): void {
      prefetched.noteChange();
      isSlotFree = true;
    },
    /** What the next pass claims. Before it, `takeVerdicts` has the prefetched events' releases. */
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
    takeVerdicts: (): readonly Unsettled[] => unsettled.splice(0),
    /** The pass has failed: the next one stores them. */
    keepVerdicts(verdicts: readonly Unsettled[]): void {
      unsettled = [...verdicts, ...unsettled];
      prefetched.noteChange();
    },
    /** Sends what there are slots for. Of the rest, releases those that may not be sent twice. */
    sendClaimed(claimed: readonly DiskClaim[], asked: Capacity): void {
      prefetched.add(claimed, asked);
      send(true);
      const inDoubt = prefetched.takeCostly();
      if (inDoubt.length === 0) return;
      release(inDoubt);
      onVerdict();
    },
    tellSettled({ claim, verdict }: Unsettled): void {
      sender?.settled(claim.event, claim.history.attempts, verdict);
    },
    /** Sends and claims no more. Resolves once no attempt is under way. */
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
