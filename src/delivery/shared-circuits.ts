import { type Circuit, type Circuits, type StoredCircuits, textOf } from "../outbox/circuits.js";
import type { Endpoint } from "../service/endpoints.js";
import type { Clock } from "../shared/clock.js";
import type { KnownOutage } from "./endpoint-health.js";
import { costlyProbeMs, LONGEST_COSTLY_MS, probeMs } from "./when-again.js";

/** While events go, how old may be what this process has read. */
const FRESH_MS = 250;
/** So many attempts without an answer, or so many slow ones, are an outage. */
const LOST_ANSWERS = 2;
const SLOW_ATTEMPTS = 3;
/** How often another process may be faster before this one gives up a change. */
const TRIES = 5;

/**
 * What all processes on one storage know of endpoints that may have taken events and gave no answer. So they risk together what one
 * process would risk, and a process that starts again goes on from there. Where the storage fails, a process goes by what it has
 * itself seen.
 */
export class SharedCircuits {
  readonly #circuits: Circuits;
  readonly #destination: number;
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #onNews: (endpoint: Endpoint, outage: KnownOutage | undefined) => void;
  #stored: StoredCircuits = { now: 0, circuits: {} };
  #readAt = Number.NEGATIVE_INFINITY;
  #reading: Promise<void> | undefined;
  #changes: Promise<void> = Promise.resolve();
  /** When the last attempt began that the endpoint has taken from this process: what is older than that is over. */
  readonly #passBeganAt = new Map<Endpoint, number>();
  /** The circuits that this process alone has written. */
  readonly #own = new Map<Endpoint, string>();

  constructor(
    circuits: Circuits,
    parts: {
      readonly destination: number;
      readonly clock: Pick<Clock, "monotonic">;
      /** Hears what other processes have found; `undefined`: the endpoint takes events again. */
      readonly onNews: (endpoint: Endpoint, outage: KnownOutage | undefined) => void;
    },
  ) {
    this.#circuits = circuits;
    this.#destination = parts.destination;
    this.#clock = parts.clock;
    this.#onNews = parts.onNews;
  }

  /**
   * Resolves to `undefined` where an attempt may begin, else to the outage that forbids it. An attempt in an outage is counted before
   * it begins: its process may die meanwhile.
   *
   * @param isHurried whether there is a sign that the endpoint may have recovered. One such sign counts in each rest.
   */
  async forbids(endpoint: Endpoint, isHurried: boolean): Promise<KnownOutage | undefined> {
    try {
      if (this.#clock.monotonic() - this.#readAt >= FRESH_MS) await this.look();
      for (let nth = 0; nth < TRIES; nth++) {
        const known = this.#current(endpoint);
        if (!known || !isOpen(known)) return undefined;
        const now = this.#now();
        const longMs = costlyProbeMs(now - known.since);
        const isDue = now >= trialAtOf(known, now);
        if (!isDue && !(isHurried && now >= known.hurriedAt + longMs)) return this.#outageOf(known);
        const next = {
          ...known,
          since: Math.min(known.since, now),
          attempts: known.attempts + 1,
          trialAt: now + longMs,
          hurriedAt: isDue ? known.hurriedAt : now,
        };
        if (await this.#replace(endpoint, next)) return undefined;
        await this.look();
      }
    } catch {
      // What is wrong with the storage is told by storing and claiming.
    }
    return undefined;
  }

  /** An attempt has waited long for its answer. */
  slow(endpoint: Endpoint, beganAt: number): void {
    this.#change(endpoint, (known, now) => {
      const since = Math.min(known?.since ?? now, this.#inStorage(beganAt));
      const next = { ...known, since, attempts: (known?.attempts ?? 0) + 1 };
      const trialAt = known && isOpen(known) ? known.trialAt : now + costlyProbeMs(now - since);
      return { failed: false, hurriedAt: 0, ...next, trialAt };
    });
  }

  /**
   * An attempt has ended without an answer.
   *
   * @param attempt.isCounted whether `slow` has told of it.
   * @param attempt.isOutage whether this process has paused the endpoint.
   */
  failed(
    endpoint: Endpoint,
    {
      beganAt,
      isCounted,
      isOutage,
    }: { readonly beganAt: number; readonly isCounted: boolean; readonly isOutage: boolean },
  ): void {
    this.#change(endpoint, (known, now) => {
      const since = Math.min(known?.since ?? now, this.#inStorage(beganAt));
      const attempts = (known?.attempts ?? 0) + Number(!isCounted || !known);
      // An attempt of another process was at another visitor's event.
      const longMs = isOutage || !this.#isOwn(endpoint) ? costlyProbeMs(now - since) : 0;
      return { since, attempts, failed: true, trialAt: now + longMs, hurriedAt: known?.hurriedAt ?? 0 };
    });
  }

  /** An attempt was answered, or never sent: it has cost nothing, and the next one may begin sooner. */
  costNothing(endpoint: Endpoint): void {
    const current = this.#current(endpoint);
    if (!current || !isOpen(current)) return;
    this.#change(endpoint, (known, now) => {
      if (!known) return undefined;
      return { ...known, trialAt: Math.min(known.trialAt, now + probeMs(now - known.since)) };
    });
  }

  /** The endpoint has taken an event, by an attempt that began then. */
  passed(endpoint: Endpoint, beganAt: number): void {
    this.#passBeganAt.set(endpoint, beganAt);
    if (this.#stored.circuits[endpoint]) this.#change(endpoint, () => undefined);
  }

  /** Reads what is stored. Rejects where the storage fails. */
  look(): Promise<void> {
    this.#reading ??= this.#read().finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  async #read(): Promise<void> {
    const before = this.#stored.circuits;
    this.#stored = await this.#circuits.read(this.#destination);
    this.#readAt = this.#clock.monotonic();
    for (const endpoint of Object.keys({ ...before, ...this.#stored.circuits }) as Endpoint[]) {
      if (this.#stored.circuits[endpoint] && !this.#current(endpoint))
        this.#change(endpoint, () => undefined);
      else if (!this.#stored.circuits[endpoint] || !this.#isOwn(endpoint)) this.#tell(endpoint);
    }
  }

  /** One after the other: each builds on what the one before it has stored. */
  #change(
    endpoint: Endpoint,
    nextOf: (known: Circuit | undefined, now: number) => Circuit | undefined,
  ): void {
    this.#changes = this.#changes.then(async () => {
      try {
        for (let nth = 0; nth < TRIES; nth++) {
          if (nth > 0 || this.#readAt === Number.NEGATIVE_INFINITY) await this.look();
          if (await this.#replace(endpoint, nextOf(this.#current(endpoint), this.#now()))) return;
        }
      } catch {
        // What is wrong with the storage is told by storing and claiming.
      }
    });
  }

  async #replace(endpoint: Endpoint, next: Circuit | undefined): Promise<boolean> {
    const known = this.#stored.circuits[endpoint];
    if (!known && !next) return true;
    const isOwn = this.#isOwn(endpoint);
    const change = { destination: this.#destination, endpoint, known, next };
    if (!(await this.#circuits.replace(change))) return false;
    const { [endpoint]: _, ...others } = this.#stored.circuits;
    this.#stored = { ...this.#stored, circuits: next ? { ...others, [endpoint]: next } : others };
    if (next && isOwn) this.#own.set(endpoint, textOf(next));
    else this.#own.delete(endpoint);
    if (!isOwn) this.#tell(endpoint);
    return true;
  }

  #current(endpoint: Endpoint): Circuit | undefined {
    const known = this.#stored.circuits[endpoint];
    const passBeganAt = this.#passBeganAt.get(endpoint);
    const isOver = known && passBeganAt !== undefined && this.#inStorage(passBeganAt) >= known.since;
    return isOver ? undefined : known;
  }

  #isOwn(endpoint: Endpoint): boolean {
    const known = this.#current(endpoint);
    return known === undefined || textOf(known) === this.#own.get(endpoint);
  }

  #tell(endpoint: Endpoint): void {
    const known = this.#current(endpoint);
    if (!known) this.#onNews(endpoint, undefined);
    else if (isOpen(known)) this.#onNews(endpoint, this.#outageOf(known));
  }

  #outageOf(circuit: Circuit): KnownOutage {
    const now = this.#now();
    const here = this.#clock.monotonic() - now;
    return { since: circuit.since + here, trialAt: trialAtOf(circuit, now) + here };
  }

  /** The storage's time. */
  #now(): number {
    return this.#inStorage(this.#clock.monotonic());
  }

  #inStorage(monotonic: number): number {
    return Math.round(this.#stored.now + monotonic - this.#readAt);
  }
}

/**
 * As in a circuit breaker: while it is open, there are only trials. One lost answer alone opens none: a service may lose one in ten,
 * and the processes would wait for each other all the time.
 */
function isOpen({ attempts, failed }: Circuit): boolean {
  return attempts >= (failed ? LOST_ANSWERS : SLOW_ATTEMPTS);
}

function trialAtOf({ trialAt }: Circuit, now: number): number {
  // The storage's clock was set back since.
  return trialAt > now + LONGEST_COSTLY_MS ? now : trialAt;
}
