import { type Circuit, type Circuits, type StoredCircuits, textOf } from "../outbox/circuits.js";
import type { Endpoint } from "../service/endpoints.js";
import type { Clock } from "../shared/clock.js";
import type { Finding } from "./finding.js";
import type { KnownOutage } from "./outage.js";
import { costlyProbeMs, LONGEST_COSTLY_MS, probeMs } from "./when-again.js";

/** Chosen: how old may be what this process has read, while it sends events. */
const FRESH_MS = 250;
/** So many attempts without an answer, or so many slow ones, are an outage. */
const LOST_ANSWERS = 2;
const SLOW_ATTEMPTS = 3;
/** How often another process may be faster before this one gives up a change. */
const TRIES = 5;

interface Parts {
  readonly circuits: Circuits;
  readonly destination: number;
  readonly clock: Pick<Clock, "monotonic" | "after">;
  /** With what other processes have found; `undefined`: the endpoint takes events again. */
  readonly onNews: (endpoint: Endpoint, outage: KnownOutage | undefined) => void;
}

/** What a circuit becomes: `undefined` removes it, and `null` leaves it as it is. */
type NextOf = (known: Circuit | undefined, now: number) => Circuit | undefined | null;

/** Reports how a watched attempt ends. `isOutage`: this process has paused the endpoint. */
export type EndWatch = (finding: Finding, isOutage: boolean) => void;

/**
 * What all processes on one storage know of endpoints that may have taken events and gave no
 * answer: together they risk what one would, and one that starts again continues from there. If the
 * storage fails, a process judges by its own attempts. The circuit of an endpoint:
 *
 * | state | what moves it | to |
 * | --- | --- | --- |
 * | none | an attempt is slow, or has no answer | closed: it only counts |
 * | closed | two such attempts, if one had no answer; otherwise three | open: only probes |
 * | open | a probe begins: when due, or once in each rest after a sign of recovery | open |
 * | open | the probe costs nothing, so the next one is due sooner | open |
 * | closed, open | an attempt is taken, in any process | none |
 */
export class SharedCircuits {
  readonly #parts: Parts;
  #stored: StoredCircuits = { now: 0, circuits: {} };
  #readAt = Number.NEGATIVE_INFINITY;
  #reading: Promise<void> | undefined;
  #changes: Promise<void> = Promise.resolve();
  /** When the last attempt began that the endpoint took from here: an older outage is over. */
  readonly #passBeganAt = new Map<Endpoint, number>();
  /** The circuits that this process alone has written. */
  readonly #own = new Map<Endpoint, string>();

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /**
   * Resolves to the outage that forbids an attempt, if one does. An attempt in an outage is counted
   * before it begins: its process may die meanwhile. `isHurried` (there is a sign of recovery)
   * counts once in each rest.
   */
  async forbids(endpoint: Endpoint, isHurried: boolean): Promise<KnownOutage | undefined> {
    let outage: KnownOutage | undefined;
    await this.#update(endpoint, FRESH_MS, (known, now) => {
      if (!known || !isOpen(known)) return null;
      const longMs = costlyProbeMs(now - known.since);
      const isDue = now >= probeAtOf(known, now);
      if (!isDue && !(isHurried && now >= known.hurriedAt + longMs)) {
        outage = this.#outageOf(known);
        return null;
      }
      return {
        ...known,
        since: Math.min(known.since, now),
        attempts: known.attempts + 1,
        probeAt: now + longMs,
        hurriedAt: isDue ? known.hurriedAt : now,
      };
    });
    return outage;
  }

  /** Counts an attempt that takes longer than `patienceMs`. */
  watch(attempt: { endpoint: Endpoint; beganAt: number; patienceMs: number }): EndWatch {
    const { endpoint, beganAt, patienceMs } = attempt;
    let isCounted = false;
    const cancel = this.#parts.clock.after(patienceMs, () => {
      isCounted = true;
      this.#slow(endpoint, beganAt);
    });
    return (finding, isOutage) => {
      cancel();
      if (finding.type === "pass") this.#passed(endpoint, beganAt);
      else if (finding.type === "failure" && finding.isAmbiguous)
        this.#failed(endpoint, { beganAt, isCounted, isOutage });
      else this.#costNothing(endpoint);
    };
  }

  /** Reads what is stored. Rejects if the storage fails. */
  refresh(): Promise<void> {
    this.#reading ??= this.#read().finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  /** An attempt has waited long for its answer. */
  #slow(endpoint: Endpoint, beganAt: number): void {
    this.#change(endpoint, (known, now) => {
      const since = Math.min(known?.since ?? now, this.#inStorage(beganAt));
      const next = { ...known, since, attempts: (known?.attempts ?? 0) + 1 };
      const probeAt = known && isOpen(known) ? known.probeAt : now + costlyProbeMs(now - since);
      return { failed: false, hurriedAt: 0, ...next, probeAt };
    });
  }

  /** An attempt had no answer. `isCounted`: by `#slow`. `isOutage`: the endpoint is paused here. */
  #failed(endpoint: Endpoint, attempt: { beganAt: number; isCounted: boolean; isOutage: boolean }): void {
    const { beganAt, isCounted, isOutage } = attempt;
    this.#change(endpoint, (known, now) => {
      const since = Math.min(known?.since ?? now, this.#inStorage(beganAt));
      const attempts = (known?.attempts ?? 0) + Number(!isCounted || !known);
      // An attempt of another process was at another visitor's event.
      const longMs = isOutage || !this.#isOwn(endpoint) ? costlyProbeMs(now - since) : 0;
      return { since, attempts, failed: true, probeAt: now + longMs, hurriedAt: known?.hurriedAt ?? 0 };
    });
  }

  /** An attempt was answered, or never sent: the next one may begin sooner. */
  #costNothing(endpoint: Endpoint): void {
    const current = this.#current(endpoint);
    if (!current || !isOpen(current)) return;
    this.#change(endpoint, (known, now) => {
      if (!known) return undefined;
      return { ...known, probeAt: Math.min(known.probeAt, now + probeMs(now - known.since)) };
    });
  }

  /** The endpoint has taken an event, by an attempt that began then. */
  #passed(endpoint: Endpoint, beganAt: number): void {
    this.#passBeganAt.set(endpoint, beganAt);
    if (this.#stored.circuits[endpoint]) this.#change(endpoint, () => undefined);
  }

  async #read(): Promise<void> {
    const before = this.#stored.circuits;
    this.#stored = await this.#parts.circuits.read(this.#parts.destination);
    this.#readAt = this.#parts.clock.monotonic();
    for (const endpoint of Object.keys({ ...before, ...this.#stored.circuits }) as Endpoint[]) {
      if (this.#stored.circuits[endpoint] && !this.#current(endpoint))
        this.#change(endpoint, () => undefined);
      else if (!this.#stored.circuits[endpoint] || !this.#isOwn(endpoint)) this.#notify(endpoint);
    }
  }

  /** One after the other: each change builds on what the one before it has stored. */
  #change(endpoint: Endpoint, nextOf: NextOf): void {
    this.#changes = this.#changes.then(() => this.#update(endpoint, Number.POSITIVE_INFINITY, nextOf));
  }

  /** @param freshMs how old may be what was read. It must have been read. */
  async #update(endpoint: Endpoint, freshMs: number, nextOf: NextOf): Promise<void> {
    try {
      for (let nth = 0; nth < TRIES; nth++) {
        if (nth > 0 || this.#parts.clock.monotonic() - this.#readAt >= freshMs) await this.refresh();
        const next = nextOf(this.#current(endpoint), this.#now());
        if (next === null || (await this.#replace(endpoint, next))) return;
      }
    } catch {
      // Storing and claiming report what is wrong with the storage.
    }
  }

  async #replace(endpoint: Endpoint, next: Circuit | undefined): Promise<boolean> {
    const known = this.#stored.circuits[endpoint];
    if (!known && !next) return true;
    const { circuits, destination } = this.#parts;
    const isOwn = this.#isOwn(endpoint);
    if (!(await circuits.replace({ destination, endpoint, known, next }))) return false;
    const { [endpoint]: _, ...others } = this.#stored.circuits;
    this.#stored = { ...this.#stored, circuits: next ? { ...others, [endpoint]: next } : others };
    if (next && isOwn) this.#own.set(endpoint, textOf(next));
    else this.#own.delete(endpoint);
    if (!isOwn) this.#notify(endpoint);
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

  #notify(endpoint: Endpoint): void {
    const { onNews } = this.#parts;
    const known = this.#current(endpoint);
    if (!known) onNews(endpoint, undefined);
    else if (isOpen(known)) onNews(endpoint, this.#outageOf(known));
  }

  #outageOf(circuit: Circuit): KnownOutage {
    const now = this.#now();
    const here = this.#parts.clock.monotonic() - now;
    return { since: circuit.since + here, probeAt: probeAtOf(circuit, now) + here };
  }

  /** The storage's time. */
  #now(): number {
    return this.#inStorage(this.#parts.clock.monotonic());
  }

  #inStorage(monotonic: number): number {
    return Math.round(this.#stored.now + monotonic - this.#readAt);
  }
}

/**
 * A circuit breaker: while it is open, only probes are sent. One lost answer alone does not open
 * it: a service may lose one in ten, and the processes would wait for each other all the time.
 */
function isOpen({ attempts, failed }: Circuit): boolean {
  return attempts >= (failed ? LOST_ANSWERS : SLOW_ATTEMPTS);
}

function probeAtOf({ probeAt }: Circuit, now: number): number {
  // The storage's clock was set back since.
  return probeAt > now + LONGEST_COSTLY_MS ? now : probeAt;
}
