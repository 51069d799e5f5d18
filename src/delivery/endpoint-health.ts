import type { Lane } from "../outbox/claim.js";
import type { Unanswered } from "../outbox/outbox.js";
import type { Endpoint } from "../service/endpoints.js";
import type { Failure } from "./finding.js";
import { knownOutage } from "./known-outage.js";
import { AttemptLimit, FailureStreak, Outage, type Pause, SavedProbes } from "./outage.js";

/** An attempt under way. */
export interface Ticket {
  readonly health: EndpointHealth;
  readonly beganAt: number;
  /** How many attempts the endpoint had taken when this one began. */
  readonly passes: number;
  readonly isNewEvent: boolean;
  /** Whether it is a probe that a sign of recovery has made begin sooner. */
  readonly isHurried: boolean;
  /** Whether it has not ended. */
  isOpen: boolean;
}

/** A new event was never tried, and has been its visitor's next event for no longer than this. */
const NEW_EVENT_MS = 15_000;
const NEW_EVENTS_AT_ONCE = 3;

const SLOW_MS = 1_000;
const SLOW_BY = 4;
const SUSPECT_MS = 15_000;

/** Chosen: how old may be what this process knows of the others' attempts. */
const FRESH_MS = 250;
// Chosen: while events wait, the next attempt comes within seconds of a pause's end.
const FORGOTTEN_MS = 60_000;

const NONE = { newEvents: 0, anyEvents: 0 };

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
 */
export class EndpointHealth {
  readonly #endpoint: Endpoint;
  /** Whether an event that may have been taken is held: then a probe may cost one. */
  readonly #holdsAmbiguous: boolean;
  #underWay = 0;
  #newEventsUnderWay = 0;

  readonly #limit: AttemptLimit;
  #passes = 0;
  #passedAt = Number.NEGATIVE_INFINITY;
  #passMs = 0;

  readonly #streak = new FailureStreak();
  #outage: Outage | undefined;
  #throttle: { readonly since: number; until: number } | undefined;
  #suspectUntil = Number.NEGATIVE_INFINITY;
  /** An event was held as doubtful, and none was taken since. */
  #isCareful = false;
  readonly #savedProbes = new SavedProbes();

  /** By how much later than others this process probes; `undefined`: it looks at no others. */
  readonly #apartMs: (() => number) | undefined;
  #lookedAt = Number.NEGATIVE_INFINITY;
  /** Since when other processes' attempts have been seen. */
  #seenAt: ReadonlyMap<number, number> = new Map();

  constructor(
    endpoint: Endpoint,
    options: { max: number; holdsAmbiguous: boolean; apartMs: (() => number) | undefined },
  ) {
    this.#endpoint = endpoint;
    this.#holdsAmbiguous = options.holdsAmbiguous;
    this.#apartMs = options.holdsAmbiguous ? options.apartMs : undefined;
    this.#limit = new AttemptLimit(options.max, this.#apartMs !== undefined);
  }

  get underWay(): number {
    return this.#underWay;
  }

  get pause(): Pause | undefined {
    if (this.#throttle) return { reason: "throttled", ...this.#throttle };
    return this.#pauseOfOutage;
  }

  /** The same, but a throttle ends when its time is up, even if no attempt shows it. */
  pauseAt(now: number): Pause | undefined {
    return now < (this.#throttle?.until ?? 0) ? this.pause : this.#pauseOfOutage;
  }

  get #pauseOfOutage(): Pause | undefined {
    if (!this.#outage) return undefined;
    const { reason, since, probeAt } = this.#outage;
    return { reason, since, until: probeAt };
  }

  /** Since when it is silent to events that may not be sent twice: the status endpoint is asked. */
  get silentSince(): number | undefined {
    return this.#outage?.isCostly ? this.#outage.since : undefined;
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
      const isRegular = this.#limit.isWhole && now >= this.#suspectUntil;
      lanes.push({ endpoint, limit: anyEvents, newestFirst: !isRegular });
    }
    return lanes;
  }

  begin({ newWithinMs }: Lane, now: number, mayProbe: boolean): Ticket | undefined {
    const isNewEvent = newWithinMs !== undefined;
    const { newEvents, anyEvents } = this.#places(now, mayProbe);
    const isHurried = this.#outage?.isHurried === true;
    if ((isNewEvent ? Math.max(newEvents, this.#outage ? 0 : anyEvents) : anyEvents) < 1) return undefined;
    if (this.#outage && isNewEvent) this.#savedProbes.spend(now, this.#outage.since);
    else this.#outage?.rest(now);
    this.#underWay++;
    if (isNewEvent) this.#newEventsUnderWay++;
    return { health: this, beganAt: now, passes: this.#passes, isNewEvent, isHurried, isOpen: true };
  }

  /** The attempt says nothing about the endpoint. */
  end(ticket: Ticket): void {
    this.#underWay--;
    if (ticket.isNewEvent) this.#newEventsUnderWay--;
  }

  /** The endpoint has read an event and decided on it. */
  pass(ticket: Ticket, now: number): void {
    this.end(ticket);
    this.#passMs = now - ticket.beganAt;
    this.#passedAt = now;
    this.#limit.prove(now);
    this.recover();
    if (this.#throttle && now >= this.#throttle.until) this.#throttle = undefined;
  }

  /** It takes events, as this process or another one has seen. */
  recover(): void {
    if (this.#outage || this.#throttle) this.#limit.reset();
    this.#limit.grow();
    this.#passes++;
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

  /** What the processes on this storage show. Returns whether that is an outage, or was one. */
  learn({ heldMs, underWay }: Unanswered, now: number): boolean {
    const before = this.#seenAt;
    this.#seenAt = new Map(underWay.map((event) => [event, before.get(event) ?? now]));
    const own = { now, passedAt: this.#passedAt, patienceMs: this.#patienceMs };
    const known = knownOutage(heldMs, [...this.#seenAt.values()], own);
    if (known) {
      this.#limit.reset();
      this.#outage ??= new Outage(known.since, now, "silent", true);
      this.#outage.learn({ ...known, probeAt: known.probeAt + (this.#apartMs?.() ?? 0) });
      return true;
    }
    const isOver = this.#outage?.isKnown === true;
    if (isOver) this.recover();
    return isOver;
  }

  /** Whether an attempt that has begun must not be sent, by what was learned meanwhile. */
  forbids(ticket: Ticket, now: number): boolean {
    if (this.#throttle && now < this.#throttle.until) return true;
    return this.#outage?.forbids(ticket) === true;
  }

  /** The endpoint did not take an event. Returns whether that may be the event's own fault. */
  fail(ticket: Ticket, { visitor, reason, isAmbiguous }: Failure, now: number): boolean {
    this.end(ticket);
    if (this.#throttle && now >= this.#throttle.until) this.#throttle = undefined;
    if (now - ticket.beganAt >= this.#patienceMs) this.#suspectUntil = now + SUSPECT_MS;
    const isCostly = isAmbiguous && this.#holdsAmbiguous;
    if (isCostly) this.#isCareful = true;
    // A failure that began before the last pass is no sign of an outage.
    if (ticket.passes !== this.#passes) return true;
    // A refusal is no sign of too many requests at once.
    if (reason !== "misconfigured" && reason !== "unauthorized") this.#limit.halve();
    this.#streak.add({ beganAt: ticket.beganAt, visitor });
    const isNew = this.#outage === undefined && this.#streak.isOutage(now, isCostly, SLOW_BY * this.#passMs);
    if (isNew) this.#outage = new Outage(this.#streak.since, now, reason, isCostly);
    if (!this.#outage) return true;
    this.#outage.reason = reason;
    this.#outage.isCostly = isCostly;
    // New events have probes of their own, which must not delay the probe of the others.
    if (isNew || !ticket.isNewEvent) this.#outage.rest(now);
    return false;
  }

  /** The service asks for a pause. */
  throttle(ticket: Ticket, forMs: number, now: number): void {
    this.end(ticket);
    this.#limit.reset();
    const before = this.#throttle ?? { since: now, until: now };
    const until = Math.max(now + forMs, before.until);
    // If it was over long ago, another process has taken what waited.
    const isNew = ticket.beganAt - before.until > FORGOTTEN_MS;
    this.#throttle = { since: isNew ? now : before.since, until };
  }

  /** The origin was down: the endpoint starts again with one attempt at once. */
  slowDown(): void {
    this.#limit.reset();
  }

  /** A sign that the endpoint may have recovered: see `Outage.hurry`. */
  tryNow(now: number): void {
    this.#outage?.hurry(now);
  }

  /** When time alone opens lanes; infinite if it opens none. `probesAt`: when a probe may begin. */
  opensAt(now: number, probesAt: number): number {
    if (this.#throttle && now < this.#throttle.until) return this.#throttle.until;
    if (!this.#outage) return this.#suspectUntil > now ? this.#suspectUntil : Number.POSITIVE_INFINITY;
    const times = [Math.max(this.#outage.probeAt, probesAt)];
    if (!this.#outage.isCostly)
      times.push(Math.max(this.#savedProbes.nextAt(now, this.#outage.since), probesAt));
    return Math.min(...times.filter((time) => time > now));
  }

  /** After how long an attempt is slow. */
  get #patienceMs(): number {
    return Math.max(SLOW_MS, SLOW_BY * this.#passMs);
  }

  /** How many more attempts may begin. */
  #places(now: number, mayProbe: boolean): typeof NONE {
    if (this.#throttle && now < this.#throttle.until) return NONE;
    const newEventsUnderWay = this.#newEventsUnderWay;
    const anyUnderWay = this.#underWay - newEventsUnderWay;
    if (this.#outage) {
      if (!mayProbe) return NONE;
      const isSaved = !this.#outage.isCostly && this.#savedProbes.has(now, this.#outage.since);
      return {
        newEvents: isSaved && newEventsUnderWay < NEW_EVENTS_AT_ONCE ? 1 : 0,
        anyEvents: now >= this.#outage.probeAt && anyUnderWay === 0 ? 1 : 0,
      };
    }
    if (this.#isCareful) {
      return { newEvents: 0, anyEvents: Math.max(0, 1 - this.#underWay) };
    }
    if (now < this.#suspectUntil) {
      return {
        newEvents: Math.max(0, NEW_EVENTS_AT_ONCE - newEventsUnderWay),
        anyEvents: Math.max(0, 1 - anyUnderWay),
      };
    }
    return { newEvents: 0, anyEvents: Math.max(0, this.#limit.at(now) - this.#underWay) };
  }
}
