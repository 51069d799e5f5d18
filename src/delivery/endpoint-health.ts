import type { Lane, Unanswered } from "../outbox/outbox.js";
import type { Endpoint, PauseReason } from "../service/endpoints.js";
import { FailureStreak, isLossOfAll, type Outage, type Pause, SavedProbes } from "./outage.js";
import { costlyProbeMs, probeMs } from "./when-again.js";

/** An attempt under way. */
export interface Ticket {
  readonly health: EndpointHealth;
  readonly beganAt: number;
  readonly isNewEvent: boolean;
  /** Whether it has not ended. */
  isOpen: boolean;
}

/** What an attempt says of the service. `forMs` is for a pause, the fields before it for a failure. */
export interface Finding {
  /** `pass`: an event was read and decided on. `nothing`: all that it says is about its event. */
  readonly type: "pass" | "failure" | "pause" | "unreachable" | "nothing";
  /** The visitor's. */
  readonly names: readonly string[];
  readonly reason: PauseReason;
  /** Whether the event may have been taken. */
  readonly isAmbiguous: boolean;
  readonly isOfGateway: boolean;
  /** How long a pause is asked for. */
  readonly forMs: number;
}

/** A new event was never tried, and has been its visitor's next event for no longer than this. */
const NEW_EVENT_MS = 15_000;
const NEW_EVENTS_AT_ONCE = 3;

const SLOW_MS = 1_000;
const SLOW_BY = 4;
const SUSPECT_MS = 15_000;

// Chosen: while events wait, the next attempt comes within seconds of a pause's end.
const FORGOTTEN_MS = 60_000;

/** Chosen: how old may be what this process knows of the others' attempts. */
const FRESH_MS = 250;
/** So many slow attempts are an outage for all, if no answer was lost yet. */
const SLOW_ATTEMPTS = 3;
/** For so long after it took an event, a shared endpoint that may cost one gets several at once. */
const PROVEN_MS = 60_000;

/**
 * What attempts have shown of one endpoint, and so which events may try next. Pure state: the
 * caller gives the time, in milliseconds since any moment.
 *
 * | state | what moves it | to |
 * | --- | --- | --- |
 * | open (`limit` attempts at once) | a slow attempt fails | suspect |
 * | suspect (3 new events and 1 other at once: silence holds no more slots) | 15 s pass | open |
 * | open, suspect | an event is held as doubtful | careful |
 * | careful (1 attempt at once) | an event is taken | open, suspect |
 * | these three | different visitors' events fail for a while, here or in other processes | outage |
 * | outage (probes) | an event is taken, here or in another process | open, and `limit` is 1 |
 * | all | the service asks for a pause | throttled (nothing) until its time is up |
 *
 * As in TCP's congestion control, a success adds one to `limit`, and a failure halves it.
 */
export class EndpointHealth {
  readonly #endpoint: Endpoint;
  readonly #max: number;
  /** Whether an event that may have been taken is held: then a probe may cost one. */
  readonly #holdsAmbiguous: boolean;
  /** By how much later than others this process probes; `undefined`: it looks at no others. */
  readonly #apartMs: number | undefined;
  #underWay = 0;
  #newEventsUnderWay = 0;
  #limit: number;

  /** When it last took an event, as this process or another one has seen. */
  #passedAt = Number.NEGATIVE_INFINITY;
  /** By an attempt of this process: an outage that is over may be one whose letters were discarded. */
  #provenUntil = Number.NEGATIVE_INFINITY;
  #passMs = 0;
  readonly #streak = new FailureStreak();
  readonly #savedProbes = new SavedProbes();
  #outage: Outage | undefined;
  #throttle: Pause | undefined;
  #suspectUntil = Number.NEGATIVE_INFINITY;
  /** An event was held as doubtful, and none was taken since. */
  #isCareful = false;

  #lookedAt = Number.NEGATIVE_INFINITY;
  /** Since when other processes' attempts have been seen. */
  #seenAt: ReadonlyMap<number, number> = new Map();

  constructor(
    endpoint: Endpoint,
    options: { max: number; holdsAmbiguous: boolean; apartMs: number | undefined },
  ) {
    this.#endpoint = endpoint;
    this.#max = options.max;
    this.#limit = options.max;
    this.#holdsAmbiguous = options.holdsAmbiguous;
    this.#apartMs = options.holdsAmbiguous ? options.apartMs : undefined;
  }

  get underWay(): number {
    return this.#underWay;
  }

  pauseAt(now: number): Pause | undefined {
    if (this.#isThrottled(now)) return this.#throttle;
    return this.#outage && { reason: this.#outage.reason, since: this.#outage.since, until: this.#probeAt };
  }

  /** The same, but what the service asked for lasts until an attempt shows that it is over. */
  reportedPauseAt(now: number): Pause | undefined {
    return this.pauseAt(now) ?? this.#throttle;
  }

  /** Since when it is silent to events that may not be sent twice: the status endpoint is asked. */
  get silentSince(): number | undefined {
    return this.#isSilent ? this.#outage?.since : undefined;
  }

  /** Whether it may be down: it takes nothing, or holds what the next attempt would risk. */
  get isDoubtful(): boolean {
    return this.#outage !== undefined || this.#isCareful;
  }

  /** Which events may be sent now. `mayProbe`: whether a probe may begin at this moment. */
  lanes(now: number, mayProbe: boolean): Lane[] {
    const { newEvents, anyEvents } = this.#places(now, mayProbe);
    const endpoint = this.#endpoint;
    const lanes: Lane[] = [];
    if (newEvents > 0)
      lanes.push({ endpoint, limit: newEvents, newestFirst: true, newWithinMs: NEW_EVENT_MS });
    if (anyEvents > 0) {
      const isRegular = this.#limit === this.#max && now >= this.#suspectUntil;
      lanes.push({ endpoint, limit: anyEvents, newestFirst: !isRegular });
    }
    return lanes;
  }

  begin({ newWithinMs }: Lane, now: number, mayProbe: boolean): Ticket | undefined {
    const isNewEvent = newWithinMs !== undefined;
    const { newEvents, anyEvents } = this.#places(now, mayProbe);
    if ((isNewEvent ? Math.max(newEvents, this.#outage ? 0 : anyEvents) : anyEvents) < 1) return undefined;
    if (this.#outage && isNewEvent) this.#savedProbes.spend(now);
    this.#underWay++;
    if (isNewEvent) this.#newEventsUnderWay++;
    return { health: this, beganAt: now, isNewEvent, isOpen: true };
  }

  /** An attempt has ended. The other methods say how. */
  end(ticket: Ticket): void {
    this.#underWay--;
    if (ticket.isNewEvent) this.#newEventsUnderWay--;
  }

  /** The endpoint has read an event and decided on it. */
  pass(ticket: Ticket, now: number): void {
    this.#passMs = now - ticket.beganAt;
    this.#provenUntil = now + PROVEN_MS;
    this.#recover(now);
  }

  /** It takes events, as this process or another one has seen. */
  #recover(now: number): void {
    this.#endThrottle(now);
    if (this.#outage || this.#throttle) this.#limit = 1;
    this.#limit = Math.min(this.#max, this.#limit + 1);
    this.#passedAt = now;
    this.#streak.end();
    this.#isCareful = false;
    this.#outage = undefined;
  }

  /** Whether to look at what other processes show. Then the caller does. */
  hasToLook(now: number): boolean {
    if (this.#apartMs === undefined || (!this.isDoubtful && now - this.#lookedAt < FRESH_MS)) return false;
    this.#lookedAt = now;
    return true;
  }

  /**
   * What the processes on this storage show: they risk together what one would. A few lost answers
   * are no outage: a service may lose one in ten, and the processes would wait for each other all the
   * time. But while there is one, each keeps it up. Returns whether there is an outage, or was one.
   */
  learn(unanswered: Unanswered, now: number): boolean {
    const before = this.#seenAt;
    const seen = unanswered.underWay.map((one) => ({ ...one, at: before.get(one.number) ?? now }));
    this.#seenAt = new Map(seen.map(({ number, at }) => [number, at]));
    const lost = unanswered.held.map(({ names, agoMs }) => ({ names, at: now - agoMs }));
    const held = lost.filter(({ at }) => at > this.#passedAt);
    const slow = seen.filter(({ at }) => at > this.#passedAt && now - at >= this.#patienceMs);
    if (held.length > 0 ? !this.#isSilent && !isLossOfAll([...held, ...slow]) : slow.length < SLOW_ATTEMPTS) {
      const isOver = this.#outage?.known !== undefined;
      if (isOver) this.#recover(now);
      return isOver;
    }
    this.#limit = 1;
    const times = [...held, ...slow].map(({ at }) => at);
    const known = { since: Math.min(...times), lastAt: seen.length > 0 ? now : Math.max(...times) };
    const since = Math.min(this.#outage?.since ?? now, known.since);
    this.#outage = { reason: "silent", isCostly: true, failedAt: since, ...this.#outage, since, known };
    return true;
  }

  /** Whether an attempt that has begun must not be sent, by what was learned meanwhile. */
  forbids(ticket: Ticket, now: number): boolean {
    return this.#isThrottled(now) || (this.#outage?.known !== undefined && ticket.beganAt < this.#probeAt);
  }

  /** The endpoint did not take an event. Returns whether that may be the event's own fault. */
  fail(ticket: Ticket, { names, reason, isAmbiguous }: Finding, now: number): boolean {
    this.#endThrottle(now);
    if (now - ticket.beganAt >= this.#patienceMs) this.#suspectUntil = now + SUSPECT_MS;
    const isCostly = isAmbiguous && this.#holdsAmbiguous;
    if (isCostly) this.#isCareful = true;
    // A failure that began before the last pass is no sign of an outage.
    if (ticket.beganAt < this.#passedAt) return true;
    // A refusal is no sign of too many requests at once.
    if (reason !== "misconfigured" && reason !== "unauthorized")
      this.#limit = Math.max(1, Math.floor(this.#limit / 2));
    this.#streak.add({ at: ticket.beganAt, names, isCostly });
    const before = this.#outage;
    if (!before && !this.#streak.isOutage(now, isCostly, SLOW_BY * this.#passMs)) return true;
    // New events have probes of their own, which must not delay the probe of the others.
    const failedAt = before && ticket.isNewEvent ? before.failedAt : now;
    this.#outage = { since: this.#streak.since, ...before, failedAt, reason, isCostly };
    return false;
  }

  /** The service asks for a pause. */
  throttle(forMs: number, now: number): void {
    this.#limit = 1;
    // If it was over long ago, nothing waited since, or another process has taken it.
    const isOld = this.#throttle && now - this.#throttle.until > FORGOTTEN_MS;
    const { since, until } = (!isOld && this.#throttle) || { since: now, until: now };
    this.#throttle = { reason: "throttled", since, until: Math.max(now + forMs, until) };
  }

  /** The origin was down: the endpoint starts again with one attempt at once. */
  restart(now: number): void {
    this.#limit = 1;
    this.tryNow(now);
  }

  /** A sign of recovery: any event may try at once, unless such a sign has misled lately. */
  tryNow(now: number): void {
    if (!this.#outage) return;
    const { signAt = Number.NEGATIVE_INFINITY } = this.#outage;
    if (now >= signAt + restMs(this.#outage, now)) this.#outage.signAt = now;
  }

  /** When time alone opens lanes; infinite if it opens none. `probesAt`: when a probe may begin. */
  opensAt(now: number, probesAt: number): number {
    if (this.#throttle && now < this.#throttle.until) return this.#throttle.until;
    if (!this.#outage) return this.#suspectUntil > now ? this.#suspectUntil : Number.POSITIVE_INFINITY;
    const times = [this.#probeAt];
    if (!this.#isSilent) times.push(this.#savedProbes.nextAt(now));
    return Math.min(...times.map((time) => Math.max(time, probesAt)).filter((time) => time > now));
  }

  /** After how long an attempt is slow. */
  get #patienceMs(): number {
    return Math.max(SLOW_MS, SLOW_BY * this.#passMs);
  }

  /** An attempt was not asked to pause: if the time is up, that is over. */
  #endThrottle(now: number): void {
    if (!this.#isThrottled(now)) this.#throttle = undefined;
  }

  #isThrottled(now: number): boolean {
    return this.#throttle !== undefined && now < this.#throttle.until;
  }

  /** Whether it leaves events unanswered that may not be sent twice. */
  get #isSilent(): boolean {
    return this.#outage?.isCostly === true || this.#outage?.known !== undefined;
  }

  /** In an outage: when any event may try next. */
  get #probeAt(): number {
    if (!this.#outage) return Number.NEGATIVE_INFINITY;
    const { failedAt, known, signAt = Number.NEGATIVE_INFINITY } = this.#outage;
    if (signAt > Math.max(failedAt, known?.lastAt ?? failedAt)) return signAt;
    const restedAt = failedAt + restMs(this.#outage, failedAt);
    if (!known) return restedAt;
    const ofAll = known.lastAt + costlyProbeMs(known.lastAt - known.since);
    return Math.max(restedAt, ofAll + (this.#apartMs ?? 0));
  }

  /** How many more attempts may begin. */
  #places(now: number, mayProbe: boolean): { newEvents: number; anyEvents: number } {
    const newEventsUnderWay = this.#newEventsUnderWay;
    const anyUnderWay = this.#underWay - newEventsUnderWay;
    if (this.#isThrottled(now) || (this.#outage && !mayProbe)) return { newEvents: 0, anyEvents: 0 };
    if (this.#outage) {
      const isSaved = !this.#isSilent && this.#savedProbes.nextAt(now) <= now;
      return {
        newEvents: isSaved && newEventsUnderWay < NEW_EVENTS_AT_ONCE ? 1 : 0,
        anyEvents: now >= this.#probeAt && anyUnderWay === 0 ? 1 : 0,
      };
    }
    if (now < this.#suspectUntil && !this.#isCareful) {
      return {
        newEvents: Math.max(0, NEW_EVENTS_AT_ONCE - newEventsUnderWay),
        anyEvents: Math.max(0, 1 - anyUnderWay),
      };
    }
    const isProven = this.#apartMs === undefined || now < this.#provenUntil;
    const limit = this.#isCareful || !isProven ? 1 : this.#limit;
    return { newEvents: 0, anyEvents: Math.max(0, limit - this.#underWay) };
  }
}

/** The longer the outage, the longer; longer still if a probe may cost an event. */
function restMs({ since, isCostly }: Outage, now: number): number {
  return isCostly ? costlyProbeMs(now - since) : probeMs(now - since);
}
