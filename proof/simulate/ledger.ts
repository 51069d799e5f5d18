import type { Logger, Outbox, OutboxEvent, Receipt } from "express-affiliate";
import type { Owner, VirtualClock } from "./clock.js";
import { EventRecord, meaningOf, NEVER } from "./event-record.js";
import type { Observer, Request } from "./service.js";
import { isSimulated } from "./sql/errors.js";

/** A promise that was not kept. */
export interface Broken {
  readonly promise: string;
  readonly message: string;
}

/** A process, as far as it tells of events. */
interface Teller {
  readonly owner: Owner;
  readonly program: string;
  readonly outbox: Outbox;
  readonly host: { readonly faultsSeen: number };
}

/** What happens to an event. */
export interface Watcher {
  sent(record: EventRecord, request: Request): void;
  ended(record: EventRecord, request: Request): void;
  told(record: EventRecord, by: Owner): void;
}

/** Records what happens, and compares it with the promises at once. */
export class Ledger implements Observer {
  readonly records = new Map<string, EventRecord>();
  readonly trace: string[] | undefined;
  watcher: Watcher | undefined;
  broken: Broken | undefined;
  events = 0;
  pendingReceipts = 0;
  readonly #sums = new WeakMap<Owner, { accepted: number; dropped: number; discarded: number }>();
  digest = 0x811c9dc5;
  readonly #clock: VirtualClock;
  readonly forgets: boolean;
  readonly #byVisitor = new Map<string, EventRecord[]>();
  #order = 0;
  #latestTime = 0;
  readonly #today: () => number;

  /**
   * @param options.today what the clock says that judges when a payment is due.
   * @param options.forgets whether the bounds are so small that delivered ids are soon forgotten.
   */
  constructor(
    clock: VirtualClock,
    { today, keepsTrace, forgets }: { today: () => number; keepsTrace: boolean; forgets: boolean },
  ) {
    this.#clock = clock;
    this.#today = today;
    this.forgets = forgets;
    this.trace = keepsTrace ? [] : undefined;
    clock.onError = (owner, error) =>
      this.breaks("no code throws", `${owner.name}: ${(error as Error)?.stack}`);
  }

  /** The clock that judges may be set back from here on. Returns the latest time it has shown. */
  noteTime(): number {
    this.#latestTime = Math.max(this.#latestTime, this.#today());
    return this.#latestTime;
  }

  breaks(promise: string, details: string): void {
    this.write(`BROKEN ${promise}: ${details}`);
    this.broken ??= {
      promise,
      message: `${promise}: ${details}, at ${Math.round(this.#clock.monotonic())} ms`,
    };
  }

  write(line: string): void {
    this.events++;
    const whole = `${this.#clock.monotonic().toFixed(3)} ${line}`;
    for (let at = 0; at < whole.length; at++) {
      this.digest = Math.imul(this.digest ^ whole.charCodeAt(at), 0x01000193);
    }
    this.trace?.push(whole);
  }

  recordOf({ id, kind, data }: OutboxEvent, program: string, number: number): EventRecord {
    const known = this.records.get(`${program} ${id}`);
    if (known) return known;
    const record = new EventRecord({ id, kind, data }, program, number);
    this.records.set(`${program} ${id}`, record);
    for (const visitor of record.visitors) {
      this.#byVisitor.set(visitor, [...(this.#byVisitor.get(visitor) ?? []), record]);
    }
    return record;
  }

  find(program: string, id = ""): EventRecord | undefined {
    return this.records.get(`${program} ${id}`);
  }

  relativesOf(record: EventRecord): Set<EventRecord> {
    const all = new Set(record.visitors.flatMap((visitor) => this.#byVisitor.get(visitor) ?? []));
    all.delete(record);
    return all;
  }

  /** What a process has accepted, and what of it did not end with an attempt. */
  of(owner: Owner) {
    const sums = this.#sums.get(owner) ?? { accepted: 0, dropped: 0, discarded: 0 };
    this.#sums.set(owner, sums);
    return sums;
  }

  nextOrder = (): number => ++this.#order;

  /** It is about to be reported. Whether it is stored its process may not live to hear. */
  reports(record: EventRecord, reportedAs: number): void {
    record.reports++;
    if (record.reportedAs === NEVER) record.reportedAs = reportedAs;
  }

  receipt(record: EventRecord, by: Owner, reportedAs: number, receipt: Receipt): void {
    const reason = "reason" in receipt ? ` ${receipt.reason}` : "";
    this.write(`${by.name}: the receipt of ${record.name} says ${receipt.outcome}${reason}`);
    if (receipt.outcome !== "queued") return;
    const isThere = record.storedAs < NEVER || record.reporter?.isAlive === true;
    const isInTrouble = receipt.reason === "storage-trouble";
    const isAgain = isThere && isInTrouble && record.ends.at(-1) !== "dropped";
    // An earlier process may have stored it, and ended before it said so.
    const mayBeThere = !isThere && isInTrouble && record.reports > 1;
    this.of(by).accepted++;
    record.accepted++;
    if (isAgain && !this.forgets) {
      // It waits in memory, and is found to be known when it is stored. If it waits in two processes,
      // either may store it first: also before what the other one was told earlier and cannot store
      // yet (docs/outboxes.md). No comparison with NaN is true.
      const isUnsent = record.storedAs === NEVER && record.requests.length === record.requestsBefore;
      if (isUnsent && record.reporter !== by) record.reportedAs = Number.NaN;
      return;
    }
    record.acceptedAt = this.#clock.monotonic();
    record.reporter = by;
    record.reportedAs = reportedAs;
    record.storedAs = isInTrouble ? NEVER : this.nextOrder();
    // It was dropped, or is forgotten: whether it may be is looked at where the receipt comes.
    if (record.ends.length > 0) record.retries++;
    record.requestsBefore = record.requests.length;
    record.ends = [];
    // Whether its id is still known, and its position, show once it is stored.
    if (isAgain || mayBeThere) Object.assign(record, { reporter: undefined, reportedAs: 0, storedAs: NEVER });
  }

  /** The host's transaction is about to commit: it may be sent before the host knows. */
  commits(record: EventRecord, by: Owner, reportedAs: number): void {
    this.of(by).accepted++;
    record.accepted++;
    record.acceptedAt = this.#clock.monotonic();
    // It was dropped or is forgotten: otherwise it would be a duplicate.
    if (record.ends.length > 0) record.retries++;
    Object.assign(record, { reporter: undefined, reportedAs, storedAs: NEVER, ends: [] });
    record.requestsBefore = record.requests.length;
  }

  /** The transaction in which it was reported has ended. */
  hasEnded(record: EventRecord, isCommitted: boolean): void {
    if (!isCommitted) record.rolledBack++;
    else if (record.storedAs === NEVER) record.storedAs = this.nextOrder();
  }

  /** A process ends that kept all in memory: an event that is reported again is new. */
  forgetAll(): void {
    for (const record of this.records.values()) {
      Object.assign(record, { reporter: undefined, reportedAs: NEVER, storedAs: NEVER, accepted: 0 });
      Object.assign(record, { reports: 0, requests: [], requestsBefore: 0, taken: 0, takenAt: undefined });
      Object.assign(record, { retries: 0, ends: [], notBefore: undefined, isToBeCancelled: false });
    }
  }

  /** Queued again by an operator, it is its visitor's last. Returns what to do if it was not. */
  retried(record: EventRecord): () => void {
    const { ends, reportedAs, storedAs, reporter, retries, requests } = record;
    const attempts = requests.length;
    const order = this.nextOrder();
    Object.assign(record, {
      retries: retries + 1,
      ends: [],
      reportedAs: order,
      storedAs: order,
      reporter: undefined,
      requestsBefore: attempts,
    });
    return () => {
      if (record.requests.length === attempts)
        Object.assign(record, { ends, reportedAs, storedAs, reporter, retries });
    };
  }

  sent(request: Request): void {
    const { sender, call } = request;
    const record = this.find(request.program, call.idempotencyKey);
    const number = record ? record.requests.push(request) : 0;
    this.write(`${sender.name}: sends ${record ? `${record.name}, for the ${number}. time` : call.path}`);
    if (record) this.watcher?.sent(record, request);
    else if (call.idempotencyKey)
      this.breaks(
        "what is sent was reported here",
        `${call.idempotencyKey} by ${sender.name} to ${request.program}`,
      );
  }

  taken(request: Request): void {
    const record = this.find(request.program, request.call.idempotencyKey);
    if (record) {
      record.wasTaken = true;
      // One from before `forgetAll` may be taken late.
      if (record.requests.includes(request)) {
        record.taken++;
        record.takenAt ??= this.#clock.monotonic();
      }
    }
    this.write(`the service takes ${record?.name}`);
  }

  ended(request: Request): void {
    const record = this.find(request.program, request.call.idempotencyKey);
    this.write(`${request.sender.name}: ${record?.name ?? request.call.path} is ${meaningOf(request)}`);
    if (record) this.watcher?.ended(record, request);
  }

  /** What hears how a process's events end. */
  listener(process: Teller, end: "delivered" | "dead" | "dropped" | "skipped") {
    const { owner: by, outbox, host } = process;
    return (notice: { id?: string; code?: string; reason?: string }) => {
      const record = this.find(process.program, notice.id);
      if (!by.isAlive || !record) return;
      if (end === "dropped") this.of(by).dropped++;
      record.isToldEarly ||= outbox.counts().trouble !== undefined;
      record.deadCode = end === "dead" ? notice.code : undefined;
      // The id of an evicted dead letter is still known.
      const isEvicted = notice.reason === "dead-letters-full";
      if (isEvicted) record.ends.pop();
      // Another process took its event, because it seemed dead; it goes on, and says what it knows.
      record.isToldTwice ||= record.told !== undefined && record.told.by !== by && host.faultsSeen > 0;
      record.toldBefore = record.told;
      record.told = { by, at: this.#clock.monotonic() };
      const told = isEvicted ? "evicted" : end;
      this.write(`${by.name}: tells that ${record.name} is ${told}`);
      record.ends.push(told);
      this.watcher?.told(record, by);
    };
  }

  degraded({ owner, host }: Teller, error: Error): void {
    if (!owner.isAlive) return;
    this.write(`${owner.name}: its storage fails: ${error.message}`);
    const code = (error as { code?: string }).code ?? "";
    if (!code.startsWith("ERR_AFFILIATE_") && !isSimulated(error))
      this.breaks("only the disk fails", `${error.stack}`);
    // It was closed while a host's transaction was open: the events that wait for that are
    // rejected. Or a process whose disk failed has left a line of which a part was written.
    else if (
      host.faultsSeen === 0 &&
      code !== "ERR_AFFILIATE_OUTBOX_CLOSED" &&
      !/-spool-/.test(error.message)
    )
      this.breaks("a disk that is well is used", error.message);
  }

  loggerOf(owner: Owner): Logger {
    const ignore = () => {};
    const error = (line: string) => {
      if (owner.isAlive && !line.includes("was dropped")) this.breaks("no code throws", line);
    };
    return { debug: ignore, info: ignore, warn: ignore, error: error as Logger["error"] };
  }
}
