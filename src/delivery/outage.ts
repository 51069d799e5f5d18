import type { PauseReason } from "../journal/notices.js";
import { costlyProbeMs, probeMs, savedProbeMs } from "./when-again.js";

/** What is wrong with an endpoint, and since when, in the callers' time. */
export interface Pause {
  readonly reason: PauseReason;
  readonly since: number;
  /** When an event may try next. */
  readonly until: number;
}

/** What another process has found: an outage, and when an attempt may begin next. */
export type KnownOutage = { readonly since: number; readonly probeAt: number };

/** An outage of one endpoint. Has no clock: each call gives the time. */
export class Outage {
  readonly since: number;
  reason: PauseReason;
  /** Whether a probe may cost an event. */
  isCostly: boolean;
  /** When any event may try next. */
  probeAt: number;
  /** When a sign of recovery last made a probe begin sooner. */
  #hurriedAt: number;

  constructor({ since, probeAt }: KnownOutage, reason: PauseReason, isCostly: boolean, before?: Outage) {
    this.since = Math.min(since, before?.since ?? since);
    this.reason = reason;
    this.isCostly = isCostly;
    this.probeAt = probeAt;
    this.#hurriedAt = before ? before.#hurriedAt : Number.NEGATIVE_INFINITY;
  }

  /** Whether the next probe is due because of a sign that the endpoint may have recovered. */
  get isHurried(): boolean {
    return this.probeAt === this.#hurriedAt;
  }

  /** A probe begins or has failed: the next one comes after a rest. */
  rest(now: number): void {
    this.probeAt = now + this.#restMs(now);
  }

  /** A sign of recovery: any event may try at once, unless such a sign has misled lately. */
  hurry(now: number): void {
    if (now < this.#hurriedAt + this.#restMs(now)) return;
    this.probeAt = now;
    this.#hurriedAt = now;
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
