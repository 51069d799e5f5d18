import type { Capacity, Lane } from "../outbox/outbox.js";
import { ENDPOINTS, type Endpoint } from "../service/endpoints.js";
import { EndpointHealth, type KnownOutage, type Pause, type Ticket } from "./endpoint-health.js";
import type { Finding, StatusAnswer } from "./finding.js";
import { PROBES_APART_MS, probeMs } from "./when-again.js";

export type { Pause, Ticket };

const UNREACHABLES_OF_AN_OUTAGE = 3;

/**
 * Whose fault is it? A failure to connect is the **origin**'s; an answer, or none, is that **endpoint**'s. Both decide which events may
 * try next. Pure state: the caller gives the time, in milliseconds since any moment.
 */
export class Health {
  readonly #concurrency: number;
  readonly #endpoints: Readonly<Record<Endpoint, EndpointHealth>>;
  readonly #all: readonly EndpointHealth[];
  #unreachables = 0;
  /** Since when a gateway says that the service gives no answer: the status endpoint tells whether that is so of all endpoints. */
  #doubtedSince: number | undefined;
  #originDown: { readonly since: number; askAt: number } | undefined;
  /** When the status endpoint is to be asked on behalf of an endpoint that swallows payments, or to settle a doubt. */
  #askAt = 0;
  #isAsking = false;
  #statusAnswers = true;
  #trialsAt = Number.NEGATIVE_INFINITY;

  /**
   * @param isShared whether other processes send to the service too. An endpoint that may cost an event gets one attempt at once then,
   *   unless it has taken one within a minute: each of the processes would risk all its slots.
   */
  constructor(
    concurrency: number,
    holdsAmbiguous: (endpoint: Endpoint) => boolean,
    { isShared = false } = {},
  ) {
    this.#concurrency = concurrency;
    // Never all of them: where one endpoint is silent, the others have sockets left.
    const max = Math.max(1, Math.floor(concurrency * 0.75));
    this.#endpoints = Object.fromEntries(
      ENDPOINTS.map((name) => [
        name,
        new EndpointHealth(name, {
          max,
          holdsAmbiguous: holdsAmbiguous(name),
          hasToProveItself: isShared && holdsAmbiguous(name),
        }),
      ]),
    ) as Record<Endpoint, EndpointHealth>;
    this.#all = Object.values(this.#endpoints);
  }

  /** Which events may be handed over now. */
  capacity(now: number): Omit<Capacity, "destination"> {
    const underWay = this.#all.reduce((sum, endpoint) => sum + endpoint.underWay, 0);
    const limit = this.#originDown ? 0 : this.#concurrency - underWay - Number(this.#isAsking);
    const trials = now >= this.#trialsAt;
    return { limit, lanes: limit > 0 ? this.#all.flatMap((endpoint) => endpoint.lanes(now, trials)) : [] };
  }

  /** An event that was claimed from this lane is about to be sent. `undefined`: not any more. */
  begin(lane: Lane, now: number): Ticket | undefined {
    if (this.#originDown) return undefined;
    const endpoint = this.#endpoints[lane.endpoint];
    const ticket = endpoint.begin(lane, now, now >= this.#trialsAt);
    if (ticket && endpoint.pause) this.#trialsAt = now + PROBES_APART_MS;
    return ticket;
  }

  /** The attempt has ended. Returns whether a failure may be the event's own fault, and not the service's. */
  end(ticket: Ticket, finding: Finding, now: number): boolean {
    const { health } = ticket;
    switch (finding.type) {
      case "pass":
        this.#answered(now);
        health.pass(ticket, now);
        return true;
      case "failure": {
        this.#unreachables = 0;
        if (finding.reason !== "silent" && !finding.isOfGateway) this.#answered(now);
        const isOwn = health.fail(ticket, finding, now);
        if (finding.isOfGateway && health.isDoubtful) this.#doubtedSince ??= now;
        return isOwn;
      }
      case "pause":
        this.#answered(now);
        health.throttle(ticket, finding.forMs, now);
        return false;
      case "unreachable":
        health.end(ticket);
        return !this.#disconnected(now);
      case "nothing":
        health.end(ticket);
        return true;
    }
  }

  /** An outage that another process has found forbids the attempt. */
  forbid(ticket: Ticket, outage: KnownOutage): void {
    ticket.health.end(ticket);
    ticket.health.rest(outage, { mayHurry: false });
  }

  /** Another process has found that an endpoint leaves events without an answer; `undefined`: that it takes them again. */
  learn(endpoint: Endpoint, outage: KnownOutage | undefined): void {
    if (outage) this.#endpoints[endpoint].rest(outage, { mayHurry: true });
    else this.#endpoints[endpoint].recover();
  }

  /** Whether an endpoint leaves events without an answer that may not be sent twice. */
  get isSwallowed(): boolean {
    return this.#swallowsSince !== undefined;
  }

  /** When the status endpoint is to be asked next; infinite where nothing depends on it, or it is being asked. */
  get askAt(): number {
    if (this.#isAsking) return Number.POSITIVE_INFINITY;
    if (this.#originDown) return this.#originDown.askAt;
    return (this.#swallowsSince ?? this.#doubtedSince) === undefined ? Number.POSITIVE_INFINITY : this.#askAt;
  }

  /** The status endpoint is about to be asked. `asked` gets its answer. */
  ask(): void {
    this.#isAsking = true;
  }

  /** @param restMs for how long the status endpoint asks to be left alone. */
  asked(answer: StatusAnswer, now: number, restMs = 0): void {
    this.#isAsking = false;
    if (answer === "unreachable") this.#disconnected(now);
    else if (answer === "well" || answer === "sick") this.#answered(now);
    else if (answer === "gateway" && this.#doubtedSince !== undefined) {
      this.#originDown ??= { since: this.#doubtedSince, askAt: now };
    }
    this.#doubtedSince = undefined;
    const since = this.#originDown?.since ?? this.#swallowsSince ?? now;
    this.#askAt = now + Math.max(restMs, probeMs(now - since));
    if (this.#originDown) this.#originDown.askAt = this.#askAt;
    const answers = answer === "well";
    if (answers && !this.#statusAnswers) for (const endpoint of this.#all) endpoint.tryNow(now);
    this.#statusAnswers = answers;
  }

  /** When lanes open next without anything happening; infinite where none will. */
  opensAt(now: number): number {
    if (this.#originDown) return Number.POSITIVE_INFINITY;
    return Math.min(...this.#all.map((endpoint) => endpoint.opensAt(now, this.#trialsAt)));
  }

  get originPause(): Pause | undefined {
    if (!this.#originDown) return undefined;
    const { since, askAt: until } = this.#originDown;
    return { reason: "unreachable", since, until };
  }

  pauseOf(endpoint: Endpoint): Pause | undefined {
    return this.#endpoints[endpoint].pause;
  }

  get #swallowsSince(): number | undefined {
    return this.#all.map(({ swallowsSince }) => swallowsSince).find((since) => since !== undefined);
  }

  /** The service itself has answered. */
  #answered(now: number): void {
    this.#unreachables = 0;
    this.#doubtedSince = undefined;
    if (!this.#originDown) return;
    this.#originDown = undefined;
    for (const endpoint of this.#all) {
      endpoint.slowDown();
      endpoint.tryNow(now);
    }
  }

  /** Returns whether the origin is down. */
  #disconnected(now: number): boolean {
    this.#unreachables++;
    if (this.#unreachables >= UNREACHABLES_OF_AN_OUTAGE) {
      this.#originDown ??= { since: now, askAt: now + probeMs(0) };
    }
    return this.#originDown !== undefined;
  }
}
