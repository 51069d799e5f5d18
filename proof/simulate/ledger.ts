import type { EventKind, OutboxEvent } from "../../src/events.js";
import type { Logger } from "../../src/journal.js";
import type { Receipt } from "../../src/track.js";
import type { Owner, VirtualClock } from "./clock.js";
import { BEHAVIOURS, type Meaning } from "./faults.js";
import type { TrackerProcess } from "./process.js";
import { type Observer, type Request, visitorNumber } from "./service.js";

/** A promise that was not kept. */
export class Broken extends Error {
  readonly promise: string;

  constructor(promise: string, details: string) {
    super(`${promise}: ${details}`);
    this.promise = promise;
  }
}

export type End = "delivered" | "dead" | "dropped" | "skipped" | "discarded" | "evicted";

/** All that is known of one event. */
export interface Tale {
  readonly id: string;
  readonly name: string;
  readonly kind: EventKind;
  readonly program: string;
  readonly visitors: readonly string[];
  content: string;
  /** The process that reported it when it was accepted, and its place in the order of all reports. */
  reporter: Owner | undefined;
  reportedAs: number;
  /** Its place among all receipts, once it is stored. */
  storedAs: number;
  acceptedAt: number;
  /** Receipts that say `queued`. */
  accepted: number;
  requests: Request[];
  /** How many there were when it got its place. */
  requestsBefore: number;
  /** The process that told of its end could not store it, and may be taken for dead: the event may be sent again. */
  isToldEarly: boolean;
  /** How often the service took it, and when first. */
  taken: number;
  takenAt: number | undefined;
  /** Whether the service has it, as reported by whichever process. */
  wasTaken: boolean;
  /** Whether the service is asked first whether its visitor was referred, and whether it is poison in a schedule of poison. */
  readonly isAsked: boolean;
  readonly isPoison: boolean;
  /** How often it was reported. */
  reports: number;
  ends: End[];
  /** Which process told of the last of them, and whether one of those that told of them could not reach its disk for a while. */
  teller: Owner | undefined;
  isToldTwice: boolean;
  deadCode: string | undefined;
  /** How often an operator queued it again. */
  retries: number;
}

const NEVER = Number.POSITIVE_INFINITY;
const meanings = new Map<number, Meaning>([[200, "delivered"]]);
for (const { status, meaning } of Object.values(BEHAVIOURS)) {
  if (status !== undefined && status !== 200 && !(status === 429 || status === 503))
    meanings.set(status, meaning);
}

/** What a sender has to conclude from what it heard, by the table; a 409 says that the event was taken before. */
export function meaningOf({ end, behaviour }: Request): Meaning | "unsent" | undefined {
  if (!end) return undefined;
  const { attempt } = end;
  if (attempt.type === "no-answer") return attempt.requestSent ? "ambiguous" : "unsent";
  if (attempt.status === 429 || attempt.status === 503) return behaviour.meaning;
  if (attempt.status === 200) return behaviour.meaning === "rejected" ? "rejected" : "delivered";
  return meanings.get(attempt.status) ?? "rejected";
}

export interface Sums {
  accepted: number;
  dropped: number;
  discarded: number;
}

/** Writes down what happens, and compares it with what is promised as it happens. */
export class Ledger implements Observer {
  readonly tales = new Map<string, Tale>();
  readonly trace: string[] | undefined;
  readonly watchers: ((what: "sent" | "told", tale: Tale, by: Owner, request?: Request) => void)[] = [];
  broken: Broken | undefined;
  events = 0;
  pendingReceipts = 0;
  readonly #sums = new WeakMap<Owner, Sums>();
  digest = 0x811c9dc5;
  readonly #clock: VirtualClock;
  readonly #forgets: boolean;
  readonly #byVisitor = new Map<string, Tale[]>();
  #order = 0;

  /** @param forgets whether there is so little room that what was delivered is soon forgotten. */
  constructor(clock: VirtualClock, { keepsTrace, forgets }: { keepsTrace: boolean; forgets: boolean }) {
    this.#clock = clock;
    this.#forgets = forgets;
    this.trace = keepsTrace ? [] : undefined;
    clock.onError = (owner, error) =>
      this.breaks("no code throws", `${owner.name}: ${(error as Error)?.stack}`);
  }

  breaks(promise: string, details: string): void {
    this.write(`BROKEN ${promise}: ${details}`);
    this.broken ??= new Broken(promise, `${details}, at ${Math.round(this.#clock.monotonic())} ms`);
  }

  write(line: string): void {
    this.events++;
    const whole = `${this.#clock.monotonic().toFixed(3)} ${line}`;
    for (let at = 0; at < whole.length; at++) {
      this.digest = Math.imul(this.digest ^ whole.charCodeAt(at), 0x01000193);
    }
    this.trace?.push(whole);
  }

  taleOf({ id, kind, data }: OutboxEvent, program: string, number: number): Tale {
    const known = this.tales.get(`${program} ${id}`);
    if (known) return known;
    const { clickId, sessionId } = data;
    const visitors: string[] = [];
    if (clickId !== undefined) visitors.push(`${program} click ${clickId}`);
    if (sessionId !== undefined) visitors.push(`${program} session ${sessionId}`);
    const tale: Tale = {
      id,
      name: `${kind} ${number}${program.includes("-0") ? "" : ` of ${program}`}`,
      kind,
      program,
      visitors,
      content: "",
      reporter: undefined,
      reportedAs: NEVER,
      storedAs: NEVER,
      acceptedAt: 0,
      accepted: 0,
      requests: [],
      requestsBefore: 0,
      isToldEarly: false,
      taken: 0,
      takenAt: undefined,
      wasTaken: false,
      isAsked: "byLoginSession" in data,
      isPoison: visitorNumber(data.sessionId ?? data.clickId ?? "") % 4 === 1,
      reports: 0,
      ends: [],
      teller: undefined,
      isToldTwice: false,
      deadCode: undefined,
      retries: 0,
    };
    this.tales.set(`${program} ${id}`, tale);
    for (const visitor of visitors) {
      this.#byVisitor.set(visitor, [...(this.#byVisitor.get(visitor) ?? []), tale]);
    }
    return tale;
  }

  find(program: string, id = ""): Tale | undefined {
    return this.tales.get(`${program} ${id}`);
  }

  relativesOf(tale: Tale): Set<Tale> {
    const all = new Set(tale.visitors.flatMap((visitor) => this.#byVisitor.get(visitor) ?? []));
    all.delete(tale);
    return all;
  }

  /** What a process has accepted, and what of it did not end with an attempt. */
  of(owner: Owner): Sums {
    let sums = this.#sums.get(owner);
    if (!sums) {
      sums = { accepted: 0, dropped: 0, discarded: 0 };
      this.#sums.set(owner, sums);
    }
    return sums;
  }

  nextOrder = (): number => ++this.#order;

  receipt(tale: Tale, by: Owner, reportedAs: number, receipt: Receipt): void {
    const reason = "reason" in receipt ? ` ${receipt.reason}` : "";
    this.write(`${by.name}: the receipt of ${tale.name} says ${receipt.outcome}${reason}`);
    if (receipt.outcome !== "queued") return;
    const isThere = tale.storedAs < NEVER || tale.reporter?.isAlive === true;
    const isKept =
      isThere && !this.#forgets && receipt.reason === "storage-trouble" && tale.ends.at(-1) !== "dropped";
    this.of(by).accepted++;
    tale.accepted++;
    // It waits in memory, and is found to be known when it is stored.
    if (isKept) return;
    tale.acceptedAt = this.#clock.monotonic();
    tale.reporter = by;
    tale.reportedAs = reportedAs;
    tale.storedAs = receipt.reason === "storage-trouble" ? NEVER : this.nextOrder();
    // It was dropped, or is forgotten: whether it may be is looked at where the receipt comes.
    if (tale.ends.length > 0) tale.retries++;
    tale.requestsBefore = tale.requests.length;
    tale.ends = [];
  }

  /** A process ends that kept all in memory: what is reported again is new. */
  forgetAll(): void {
    for (const tale of this.tales.values()) {
      Object.assign(tale, {
        reportedAs: NEVER,
        storedAs: NEVER,
        ends: [],
        requests: [],
        taken: 0,
        takenAt: undefined,
      });
      Object.assign(tale, { accepted: 0, reports: 0, retries: 0, reporter: undefined, requestsBefore: 0 });
    }
  }

  /** An operator queues it again: it is its visitor's last. Returns what to do where it was left alone. */
  retried(tale: Tale): () => void {
    const { ends, reportedAs, storedAs, reporter, retries, requests } = tale;
    const attempts = requests.length;
    const order = this.nextOrder();
    Object.assign(tale, {
      retries: retries + 1,
      ends: [],
      reportedAs: order,
      storedAs: order,
      reporter: undefined,
      requestsBefore: attempts,
    });
    return () => {
      if (tale.requests.length === attempts)
        Object.assign(tale, { ends, reportedAs, storedAs, reporter, retries });
    };
  }

  sent(request: Request): void {
    const { sender, call } = request;
    const tale = this.find(request.program, call.idempotencyKey);
    const number = tale ? tale.requests.push(request) : 0;
    this.write(`${sender.name}: sends ${tale ? `${tale.name}, for the ${number}. time` : call.path}`);
    if (tale) for (const watch of this.watchers) watch("sent", tale, sender, request);
    else if (call.idempotencyKey)
      this.breaks(
        "what is sent was reported here",
        `${call.idempotencyKey} by ${sender.name} to ${request.program}`,
      );
  }

  taken(request: Request): void {
    const tale = this.find(request.program, request.call.idempotencyKey);
    if (tale) {
      tale.taken++;
      tale.wasTaken = true;
      tale.takenAt ??= this.#clock.monotonic();
    }
    this.write(`the service takes ${tale?.name}`);
  }

  ended(request: Request): void {
    const tale = this.find(request.program, request.call.idempotencyKey);
    this.write(`${request.sender.name}: ${tale?.name ?? request.call.path} is ${meaningOf(request)}`);
  }

  listenTo(process: TrackerProcess): void {
    const { owner, journal, outbox } = process;
    const told = (end: End) => (notice: { id?: string; code?: string; reason?: string }) => {
      const tale = this.find(process.program, notice.id);
      if (!owner.isAlive || !tale) return;
      if (end === "dropped") this.of(owner).dropped++;
      tale.isToldEarly ||= outbox.counts().trouble !== undefined;
      tale.deadCode = end === "dead" ? notice.code : undefined;
      // A dead letter that gives way is still known.
      if (notice.reason === "dead-letters-full") tale.ends.pop();
      this.ends(tale, notice.reason === "dead-letters-full" ? "evicted" : end, process);
    };
    journal.emitter.on("delivered", told("delivered") as (notice: unknown) => void);
    journal.emitter.on("dead", told("dead") as (notice: unknown) => void);
    journal.emitter.on("dropped", told("dropped") as (notice: unknown) => void);
  }

  /** Notices of what was skipped do not say what it was. */
  skipped(id: string, process: Pick<TrackerProcess, "owner" | "outbox" | "host" | "program">): void {
    const { owner, outbox } = process;
    const tale = this.find(process.program, id);
    if (!tale || !owner.isAlive) return;
    tale.isToldEarly ||= outbox.counts().trouble !== undefined;
    this.ends(tale, "skipped", process);
  }

  ends(tale: Tale, end: End, { owner: by, host }: Pick<TrackerProcess, "owner" | "host">): void {
    // It was taken for dead, and its event over; it goes on, and tells of what it knows.
    if (tale.teller !== undefined && tale.teller !== by && host.faultsSeen > 0) tale.isToldTwice = true;
    tale.teller = by;
    this.write(`${by.name}: tells that ${tale.name} is ${end}`);
    tale.ends.push(end);
    for (const watch of this.watchers) watch("told", tale, by);
  }

  degraded({ owner, host }: TrackerProcess, error: Error): void {
    if (!owner.isAlive) return;
    this.write(`${owner.name}: its storage fails: ${error.message}`);
    const code = (error as { code?: string }).code ?? "";
    if (!code.startsWith("ERR_AFFILIATE_")) this.breaks("only the disk fails", `${error.stack}`);
    else if (host.faultsSeen === 0) this.breaks("a disk that is well is used", error.message);
  }

  loggerOf(owner: Owner): Logger {
    const ignore = () => {};
    const error = (line: string) => {
      if (owner.isAlive) this.breaks("no code throws", line);
    };
    return { debug: ignore, info: ignore, warn: ignore, error: error as Logger["error"] };
  }
}
