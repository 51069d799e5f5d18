import type { PauseReason } from "../journal/notices.js";
import type { KnownOutage } from "./known-outage.js";
import { clamp, costlyProbeMs, probeMs, savedProbeMs } from "./when-again.js";

/** What is wrong with an endpoint, and since when, in the callers' time. */
export interface Pause {
  readonly reason: PauseReason;
  readonly since: number;
  /** When an event may try next. */
  readonly until: number;
}

/** An outage of one endpoint. Has no clock: each call gives the time. */
export class Outage {
  since: number;
  reason: PauseReason;
  /** Whether a probe may cost an event. */
  isCostly: boolean;
  /** What all processes know of it. */
  #known: KnownOutage | undefined;
  /** When any event may try next, by this process's attempts. */
  #probeAt: number;
  /** When a sign of recovery last made a probe begin sooner. */
  #hurriedAt = Number.NEGATIVE_INFINITY;

  constructor(since: number, probeAt: number, reason: PauseReason, isCostly: boolean) {
    this.since = since;
    this.#probeAt = probeAt;
    this.reason = reason;
    this.isCostly = isCostly;
  }

  /** When any event may try next, by the attempts of all processes. */
  get probeAt(): number {
    if (this.isHurried || !this.#known) return this.#probeAt;
    return Math.max(this.#probeAt, this.#known.probeAt);
  }

  /** Whether the next probe is due because of a sign that the endpoint may have recovered. */
  get isHurried(): boolean {
    return this.#probeAt === this.#hurriedAt && this.#isSignNew;
  }

  /** Whether other processes know of it, too. */
  get isKnown(): boolean {
    return this.#known !== undefined;
  }

  learn(known: KnownOutage): void {
    this.#known = known;
    this.since = Math.min(this.since, known.since);
    this.isCostly = true;
  }

  /** Whether a probe that has just begun must not go on, by what was learned meanwhile. */
  forbids({ beganAt, isHurried }: { readonly beganAt: number; readonly isHurried: boolean }): boolean {
    if (!this.#known || beganAt >= this.#known.probeAt || (isHurried && this.#isSignNew)) return false;
    // There was no attempt.
    this.#probeAt = isHurried ? this.#hurriedAt : beganAt;
    return true;
  }

  /** A probe begins or has failed: the next one comes after a rest. */
  rest(now: number): void {
    this.#probeAt = now + this.#restMs(now);
  }

  /** A sign of recovery: any event may try at once, unless such a sign has misled lately. */
  hurry(now: number): void {
    if (now < this.#hurriedAt + this.#restMs(now)) return;
    this.#probeAt = now;
    this.#hurriedAt = now;
  }

  /** Whether no process has tried since the last sign of recovery. */
  get #isSignNew(): boolean {
    return !this.#known || this.#hurriedAt > this.#known.lastAt;
  }

  /** The longer the outage, the longer; longer still if a probe may cost an event. */
  #restMs(now: number): number {
    const lasted = now - this.since;
    return this.isCostly ? costlyProbeMs(lasted) : probeMs(lasted);
  }
}

const MOST_SAVED = 5;

/**
 * The probes of a paused endpoint that never-tried events may make at once: a token bucket. At most
 * five are saved, also before the outage: one every second at first, one every 5 s later. So an
 * event that the endpoint would take need not wait until all others have tried. Has no clock.
 */
export class SavedProbes {
  #number = MOST_SAVED;
  #at = Number.NEGATIVE_INFINITY;

  /** Whether there is one, in an outage that began at `since`. */
  has(now: number, since: number): boolean {
    return this.#numberAt(now, since) >= 1;
  }

  spend(now: number, since: number): void {
    this.#number = this.#numberAt(now, since) - 1;
    this.#at = now;
  }

  /** When the next one is there: now, or later. */
  nextAt(now: number, since: number): number {
    const missing = 1 - this.#numberAt(now, since);
    return missing <= 0 ? now : now + missing * savedProbeMs(now - since);
  }

  #numberAt(now: number, since: number): number {
    return Math.min(MOST_SAVED, this.#number + (now - this.#at) / savedProbeMs(now - since));
  }
}

const FAILURES_OF_AN_OUTAGE = 16;
const SHORTEST_OUTAGE_MS = 500;
// Chosen so that a service that is down for two seconds gets few requests.
const LONGEST_DOUBT_MS = 1_900;
const MOST_PATIENCE = 64;
const FADING = 0.8;

/** The attempts at one endpoint that failed since the last one that it took. Has no clock. */
export class FailureStreak {
  #failures = 0;
  #since = Number.POSITIVE_INFINITY;
  // Two are enough to know that no single visitor causes the failures.
  readonly #visitors = new Set<string>();
  /** An outage takes so many times the usual failures: more if an event passed in spite of many. */
  #patience = 1;

  /** When the first of them began; infinite if there is none. */
  get since(): number {
    return this.#since;
  }

  add(failure: { readonly beganAt: number; readonly visitor: string }): void {
    this.#failures++;
    this.#since = Math.min(this.#since, failure.beganAt);
    if (this.#visitors.size < 2) this.#visitors.add(failure.visitor);
  }

  /**
   * Whether the endpoint takes nothing from different visitors: many attempts failed, or for long
   * (`longMs`). If each failure costs an event, two are enough.
   */
  isOutage(now: number, isCostly: boolean, longMs: number): boolean {
    const doubtMs = Math.min(SHORTEST_OUTAGE_MS * this.#patience, LONGEST_DOUBT_MS);
    const isLong = now - this.#since >= Math.max(doubtMs, longMs);
    const areMany = this.#failures >= FAILURES_OF_AN_OUTAGE * this.#patience;
    return this.#visitors.size > 1 && (isCostly || isLong || areMany);
  }

  /** An event was taken. */
  end(): void {
    // Otherwise a burst of events that the service always rejects would look like an outage.
    const needed = (4 * this.#failures) / FAILURES_OF_AN_OUTAGE;
    this.#patience = clamp(needed, Math.max(1, FADING * this.#patience), MOST_PATIENCE);
    this.#failures = 0;
    this.#since = Number.POSITIVE_INFINITY;
    this.#visitors.clear();
  }
}

const PROVEN_MS = 60_000;

/**
 * How many attempts at one endpoint may be under way at once. As in TCP's congestion control, a
 * success adds one and a failure halves it. Has no clock: each call gives the time.
 */
export class AttemptLimit {
  readonly #most: number;
  #limit: number;
  /** Until then the endpoint gets more than one attempt at once. */
  #provenUntil: number;

  /** @param hasToProveItself whether it is 1 until the endpoint has taken an event. */
  constructor(most: number, hasToProveItself: boolean) {
    this.#most = most;
    this.#limit = most;
    this.#provenUntil = hasToProveItself ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
  }

  /** Whether nothing has lowered it. */
  get isWhole(): boolean {
    return this.#limit === this.#most;
  }

  at(now: number): number {
    return now < this.#provenUntil ? this.#limit : 1;
  }

  /** The endpoint has taken an event. */
  prove(now: number): void {
    this.#provenUntil = Math.max(this.#provenUntil, now + PROVEN_MS);
  }

  grow(): void {
    this.#limit = Math.min(this.#most, this.#limit + 1);
  }

  halve(): void {
    this.#limit = Math.max(1, Math.floor(this.#limit / 2));
  }

  reset(): void {
    this.#limit = 1;
  }
}
