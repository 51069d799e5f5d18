import type { PauseReason } from "../journal/notices.js";
import type { Lane } from "../outbox/outbox.js";
import type { Endpoint } from "../service/endpoints.js";
import { type InLine, Line } from "../shared/line.js";
import { FailureStreak } from "./failure-streak.js";
import type { Failure } from "./finding.js";
import { SavedTrials } from "./saved-trials.js";
import { costlyProbeMs, probeMs } from "./when-again.js";

/** An attempt under way. */
export interface Ticket extends InLine<Ticket> {
  readonly health: EndpointHealth;
  readonly beganAt: number;
  /** How many attempts the endpoint had taken when this one began. */
  readonly passes: number;
  readonly isNewcomer: boolean;
  /** Whether it is a trial that begins sooner, because of a sign that the endpoint may have recovered. */
  readonly isHurried: boolean;
}

/** What is wrong with an endpoint, and since when, in the callers' time. */
export interface Pause {
  readonly reason: PauseReason;
  readonly since: number;
  /** When an event may try next. */
  readonly until: number;
}

/** What another process has found: since when the endpoint leaves events without an answer, and when an attempt may begin next. */
export type KnownOutage = Omit<Pause, "reason" | "until"> & { readonly trialAt: number };

/** A newcomer was never tried, and has been its visitor's next for no longer than this. */
const NEWCOMER_MS = 15_000;
const NEWCOMERS_AT_ONCE = 3;

const PROVEN_MS = 60_000;
const SLOW_MS = 1_000;
const SLOW_BY = 4;
const SUSPECT_MS = 15_000;
const STUCK_AT_MOST = 3;

const NONE = { newcomers: 0, others: 0 };

/**
 * What attempts have shown of one endpoint, and so which events may try next. Pure state: the caller gives the time, in
 * milliseconds since any moment.
 *
 * - **Open**: up to `limit` attempts at once. A pass adds one, a failure that is no refusal takes half.
 * - **Suspect**, for 15 s after an attempt that took long and failed: three slots for newcomers and one for the others,
 *   so that events that meet silence cannot take every slot.
 * - **Outage**: the endpoint has taken nothing from different visitors for a while. Only trials: a newcomer where a trial is saved, and
 *   every tenth of the outage any event. One pass ends it.
 */
export class EndpointHealth {
  readonly #endpoint: Endpoint;
  readonly #max: number;
  /** Whether an event that may have been taken is held, and not sent again: then a trial may cost one. */
  readonly #holdsAmbiguous: boolean;
  /** In the order in which they began. */
  readonly #underWay = new Line<Ticket>();
  #newcomersUnderWay = 0;

  #limit: number;
  /** Until then it gets more than one attempt at once. */
  #provenUntil: number;
  #passes = 0;
  #passMs = 0;

  readonly #streak = new FailureStreak();
  #outage:
    | { readonly since: number; reason: PauseReason; isCostly: boolean; trialAt: number; hurriedAt: number }
    | undefined;
  #throttle: { readonly since: number; until: number } | undefined;
  #suspectUntil = Number.NEGATIVE_INFINITY;
  readonly #trials = new SavedTrials();

  constructor(
    endpoint: Endpoint,
    options: { max: number; holdsAmbiguous: boolean; hasToProveItself: boolean },
  ) {
    this.#endpoint = endpoint;
    this.#max = options.max;
    this.#limit = options.max;
    this.#provenUntil = options.hasToProveItself ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
    this.#holdsAmbiguous = options.holdsAmbiguous;
  }

  get underWay(): number {
    return this.#underWay.length;
  }

  get pause(): Pause | undefined {
    if (this.#throttle) return { reason: "throttled", ...this.#throttle };
    if (this.#outage)
      return { reason: this.#outage.reason, since: this.#outage.since, until: this.#outage.trialAt };
    return undefined;
  }

  /** Since when the endpoint has swallowed events that may not be sent twice. The status endpoint is asked meanwhile. */
  get swallowsSince(): number | undefined {
    return this.#isSwallowing ? this.#outage?.since : undefined;
  }

  /** After how long an attempt is slow. */
  get patienceMs(): number {
    return Math.max(SLOW_MS, SLOW_BY * this.#passMs);
  }

  /** Whether it may be down: it takes nothing, or holds what the next attempt would risk. */
  get isDoubtful(): boolean {
    return this.#outage !== undefined || this.#streak.costly > 0;
  }

  get #isSwallowing(): boolean {
    return this.#outage?.isCostly === true;
  }

  get #isHurried(): boolean {
    return this.#outage !== undefined && this.#outage.trialAt === this.#outage.hurriedAt;
  }

  /** Which events may be handed over now. `trials`: whether a trial may begin at this moment. */
  lanes(now: number, trials: boolean): Lane[] {
    const { newcomers, others } = this.#places(now, trials);
    const endpoint = this.#endpoint;
    const lanes: Lane[] = [];
    if (newcomers > 0)
      lanes.push({ endpoint, limit: newcomers, newestFirst: true, newWithinMs: NEWCOMER_MS });
    if (others > 0) {
      const isRegular = this.#limit === this.#max && now >= this.#suspectUntil;
      lanes.push({
        endpoint,
        limit: others,
        newestFirst: !isRegular,
        evenResting: this.#outage !== undefined,
      });
    }
    return lanes;
  }

  /** An event of this lane is about to be sent. `undefined`: the lane has closed since the event was claimed. */
  begin({ newWithinMs }: Lane, now: number, trials: boolean): Ticket | undefined {
    const isNewcomer = newWithinMs !== undefined;
    const { newcomers, others } = this.#places(now, trials);
    const isHurried = this.#isHurried;
    if ((isNewcomer ? Math.max(newcomers, this.#outage ? 0 : others) : others) < 1) return undefined;
    if (this.#outage && isNewcomer) this.#trials.spend(now, this.#outage.since);
    else if (this.#outage) this.#outage.trialAt = now + this.#restMs(now);
    const ticket: Ticket = {
      health: this,
      beganAt: now,
      passes: this.#passes,
      isNewcomer,
      isHurried,
      before: undefined,
      after: undefined,
    };
    this.#underWay.join(ticket);
    if (isNewcomer) this.#newcomersUnderWay++;
    return ticket;
  }

  /** The attempt says nothing of the endpoint. */
  end(ticket: Ticket): void {
    this.#underWay.leave(ticket);
    if (ticket.isNewcomer) this.#newcomersUnderWay--;
  }

  /** The endpoint has read an event and decided on it. */
  pass(ticket: Ticket, now: number): void {
    this.end(ticket);
    this.#passMs = now - ticket.beganAt;
    this.#provenUntil = Math.max(this.#provenUntil, now + PROVEN_MS);
    this.recover();
    if (this.#throttle && now >= this.#throttle.until) this.#throttle = undefined;
  }

  /** It takes events, as this process or another one has seen. */
  recover(): void {
    this.#limit = Math.min(this.#max, (this.#outage || this.#throttle ? 1 : this.#limit) + 1);
    this.#passes++;
    this.#streak.end();
    this.#outage = undefined;
  }

  /** @param mayHurry whether a trial that is due because of a sign that the endpoint may have recovered stays due. */
  rest({ since, trialAt }: KnownOutage, { mayHurry }: { readonly mayHurry: boolean }): void {
    const own = this.#outage;
    this.#limit = 1;
    this.#outage = {
      since: Math.min(since, own?.since ?? since),
      reason: own?.reason ?? "silent",
      isCostly: true,
      trialAt: own && mayHurry && this.#isHurried ? own.trialAt : trialAt,
      hurriedAt: own?.hurriedAt ?? Number.NEGATIVE_INFINITY,
    };
  }

  /** The endpoint did not take an event. Returns whether that may be the event's own fault. */
  fail(ticket: Ticket, { visitor, reason, isAmbiguous }: Failure, now: number): boolean {
    this.end(ticket);
    if (this.#throttle && now >= this.#throttle.until) this.#throttle = undefined;
    if (now - ticket.beganAt >= this.patienceMs) this.#suspectUntil = now + SUSPECT_MS;
    // Ignores a failure that began before the last pass.
    if (ticket.passes !== this.#passes) return true;
    // A refusal is no sign of too many requests at once.
    if (reason !== "misconfigured" && reason !== "unauthorized")
      this.#limit = Math.max(1, Math.floor(this.#limit / 2));
    const isCostly = isAmbiguous && this.#holdsAmbiguous;
    this.#streak.add({ beganAt: ticket.beganAt, visitor, isCostly });
    const isNew = this.#outage === undefined && this.#streak.isOutage(now, isCostly, SLOW_BY * this.#passMs);
    if (isNew) {
      const since = this.#streak.since;
      this.#outage = { since, reason, isCostly, trialAt: now, hurriedAt: Number.NEGATIVE_INFINITY };
    }
    if (!this.#outage) return true;
    this.#outage.reason = reason;
    this.#outage.isCostly = isCostly;
    // Newcomers have trials of their own, which must not delay the trial of the others.
    if (isNew || !ticket.isNewcomer) this.#outage.trialAt = now + this.#restMs(now);
    return false;
  }

  /** The service asks for a pause. */
  throttle(ticket: Ticket, forMs: number, now: number): void {
    this.end(ticket);
    this.#limit = 1;
    const until = Math.max(now + forMs, this.#throttle?.until ?? 0);
    this.#throttle = { since: this.#throttle?.since ?? now, until };
  }

  /** The origin was down: the endpoint starts again with one attempt at once. */
  slowDown(): void {
    this.#limit = 1;
  }

  /** A sign that the endpoint may have recovered: any event may try at once, unless such a sign has misled of late. */
  tryNow(now: number): void {
    if (!this.#outage || now < this.#outage.hurriedAt + this.#restMs(now)) return;
    this.#outage.trialAt = now;
    this.#outage.hurriedAt = now;
  }

  /** When lanes open next without anything happening; infinite where none will. `trialsAt`: when a trial may begin. */
  opensAt(now: number, trialsAt: number): number {
    if (this.#throttle && now < this.#throttle.until) return this.#throttle.until;
    if (!this.#outage) return this.#suspectUntil > now ? this.#suspectUntil : Number.POSITIVE_INFINITY;
    const times = [Math.max(this.#outage.trialAt, trialsAt)];
    if (!this.#isSwallowing) times.push(Math.max(this.#trials.nextAt(now, this.#outage.since), trialsAt));
    return Math.min(...times.filter((time) => time > now));
  }

  /** How many more attempts may begin. */
  #places(now: number, trials: boolean): typeof NONE {
    if (this.#throttle && now < this.#throttle.until) return NONE;
    const newcomersUnderWay = this.#newcomersUnderWay;
    const othersUnderWay = this.#underWay.length - newcomersUnderWay;
    if (this.#outage) {
      if (!trials) return NONE;
      const isSaved = !this.#isSwallowing && this.#trials.has(now, this.#outage.since);
      return {
        newcomers: isSaved && newcomersUnderWay < NEWCOMERS_AT_ONCE ? 1 : 0,
        others: now >= this.#outage.trialAt && othersUnderWay === 0 ? 1 : 0,
      };
    }
    if (this.#holdsAmbiguous && (this.#streak.costly > 0 || this.#areStuck(now))) {
      return { newcomers: 0, others: Math.max(0, 1 - this.#underWay.length) };
    }
    if (now < this.#suspectUntil) {
      return {
        newcomers: Math.max(0, NEWCOMERS_AT_ONCE - newcomersUnderWay),
        others: Math.max(0, 1 - othersUnderWay),
      };
    }
    const limit = now < this.#provenUntil ? this.#limit : 1;
    return { newcomers: 0, others: Math.max(0, limit - this.#underWay.length) };
  }

  #areStuck(now: number): boolean {
    const lastOfFirst = this.#underWay.peek(STUCK_AT_MOST)[STUCK_AT_MOST - 1];
    return lastOfFirst !== undefined && now - lastOfFirst.beganAt >= this.patienceMs;
  }

  /** How long after a failed trial any event may try again: the longer, the longer the outage; longer still where it costs. */
  #restMs(now: number): number {
    const lasted = now - (this.#outage?.since ?? now);
    return this.#isSwallowing ? costlyProbeMs(lasted) : probeMs(lasted);
  }
}
