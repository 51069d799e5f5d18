import type { Capacity, Lane } from "../outbox/outbox.js";
import { byEndpoint, type Endpoint } from "../service/endpoints.js";
import { EndpointHealth, type Finding, type Ticket } from "./endpoint-health.js";
import type { Pause } from "./outage.js";
import { PROBES_APART_MS, probeMs } from "./when-again.js";

/** What the status endpoint said. `sick`: 5xx, or a pause. `gateway`: see `isOfGateway`. */
export type StatusAnswer = "well" | "sick" | "gateway" | "silent" | "unreachable";

const UNREACHABLES_OF_AN_OUTAGE = 3;

/**
 * Which events may try next. A failure to connect is the **origin**'s; an answer, or none, is that
 * **endpoint**'s. Pure state: the caller gives the time, in milliseconds since any moment. While
 * the origin is in doubt or down, the status endpoint is asked, which risks no event.
 *
 * | the origin is | what moves it | to |
 * | --- | --- | --- |
 * | up, in doubt | three requests in a row get no connection | down: no event is sent |
 * | up | a gateway answers for an endpoint that may be down | in doubt |
 * | in doubt | a gateway answers for the status endpoint, too | down |
 * | in doubt | the service answers an event, or the question ends in any other way | up |
 * | down | the service answers an event or the question | up |
 */
export class Health {
  readonly #concurrency: number;
  readonly endpoints: Readonly<Record<Endpoint, EndpointHealth>>;
  readonly #all: readonly EndpointHealth[];
  #unreachables = 0;
  /** Since when a gateway answers in the service's place: the status endpoint shows whether all is down. */
  #doubtedSince: number | undefined;
  #downSince: number | undefined;
  /** When to ask the status endpoint, if anything depends on it. */
  #askAt = 0;
  #isAsking = false;
  #statusAnswers = true;
  #probesAt = Number.NEGATIVE_INFINITY;

  /**
   * @param apartMs other processes send, too, and this one probes by so much later. Then an endpoint
   * that may cost an event gets one attempt at once, unless it took one within a minute: otherwise
   * each process would risk all its slots.
   */
  constructor(concurrency: number, holdsAmbiguous: (endpoint: Endpoint) => boolean, apartMs?: number) {
    this.#concurrency = concurrency;
    // Never all of them: if one endpoint is silent, the others have sockets left.
    const max = Math.max(1, Math.floor(concurrency * 0.75));
    this.endpoints = byEndpoint(
      (name) => new EndpointHealth(name, { max, apartMs, holdsAmbiguous: holdsAmbiguous(name) }),
    );
    this.#all = Object.values(this.endpoints);
  }

  /** Which events may be sent now. */
  capacity(now: number): Capacity {
    const underWay = this.#all.reduce((sum, endpoint) => sum + endpoint.underWay, 0);
    const limit = this.#isDown ? 0 : this.#concurrency - underWay - Number(this.#isAsking);
    const mayProbe = now >= this.#probesAt;
    return { limit, lanes: limit > 0 ? this.#all.flatMap((endpoint) => endpoint.lanes(now, mayProbe)) : [] };
  }

  /** An event of this lane is about to be sent. `undefined`: the lane closed after the claim. */
  begin(lane: Lane, now: number): Ticket | undefined {
    if (this.#isDown) return undefined;
    const endpoint = this.endpoints[lane.endpoint];
    const ticket = endpoint.begin(lane, now, now >= this.#probesAt);
    if (ticket && endpoint.pauseAt(now)) this.#probesAt = now + PROBES_APART_MS;
    return ticket;
  }

  /** Ends an attempt, unless it has ended. Returns whether a failure may be the event's own fault, not the service's. */
  end(ticket: Ticket, finding: Finding | { type: "unreachable" | "nothing" }, now: number): boolean {
    const { health } = ticket;
    if (!ticket.isOpen) return true;
    ticket.isOpen = false;
    health.end(ticket);
    switch (finding.type) {
      case "pass":
        this.#answered(now);
        health.pass(ticket, now);
        return true;
      case "failure": {
        this.#unreachables = 0;
        if (finding.reason !== "silent" && !finding.isOfGateway) this.#answered(now);
        const isOfEvent = health.fail(ticket, finding, now);
        if (finding.isOfGateway && health.isDoubtful) this.#doubtedSince ??= now;
        return isOfEvent;
      }
      case "pause":
        this.#answered(now);
        health.throttle(finding.forMs, now);
        return false;
      case "unreachable":
        return !this.#disconnected(now);
      case "nothing":
        return true;
    }
  }

  /** When to ask the status endpoint; infinite if nothing depends on it, or it is being asked. */
  get askAt(): number {
    return this.#isAsking || this.#troubledSince === undefined ? Number.POSITIVE_INFINITY : this.#askAt;
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
    else if (answer === "gateway") this.#downSince ??= this.#doubtedSince;
    this.#doubtedSince = undefined;
    this.#askAt = now + Math.max(restMs, probeMs(now - (this.#troubledSince ?? now)));
    const answers = answer === "well";
    if (answers && !this.#statusAnswers) for (const endpoint of this.#all) endpoint.tryNow(now);
    this.#statusAnswers = answers;
  }

  /** When time alone opens lanes next; infinite if it opens none. */
  opensAt(now: number): number {
    if (this.#isDown) return Number.POSITIVE_INFINITY;
    return Math.min(...this.#all.map((endpoint) => endpoint.opensAt(now, this.#probesAt)));
  }

  get originPause(): Pause | undefined {
    if (this.#downSince === undefined) return undefined;
    return { reason: "unreachable", since: this.#downSince, until: this.#askAt };
  }

  get #isDown(): boolean {
    return this.#downSince !== undefined;
  }

  /** Since when something depends on the status endpoint. */
  get #troubledSince(): number | undefined {
    const silentSince = this.#all.map((endpoint) => endpoint.silentSince);
    return [this.#downSince, ...silentSince, this.#doubtedSince].find((since) => since !== undefined);
  }

  /** The service itself has answered. */
  #answered(now: number): void {
    this.#unreachables = 0;
    this.#doubtedSince = undefined;
    if (!this.#isDown) return;
    this.#downSince = undefined;
    for (const endpoint of this.#all) endpoint.restart(now);
  }

  /** Returns whether the origin is down. */
  #disconnected(now: number): boolean {
    this.#unreachables++;
    if (this.#unreachables >= UNREACHABLES_OF_AN_OUTAGE && !this.#isDown) {
      this.#downSince = now;
      this.#askAt = now + probeMs(0);
    }
    return this.#isDown;
  }
}
