import type { Receipt } from "express-affiliate";
import { notBeforeOf } from "../../src/conversion/events.js";
import { checkReceipt, noteStall, watcherOf } from "./checks.js";
import { type Owner, VirtualClock } from "./clock.js";
import { Disk } from "./disk.js";
import { Ledger } from "./ledger.js";
import { kill, newOwner, type Slot, startProcess, type TrackerProcess } from "./process.js";
import { chance } from "./random.js";
import type { Happening, Schedule, Step } from "./schedule.js";
import { Service } from "./service.js";
import { beginTransaction, type HostTransaction } from "./sql/host-transaction.js";
import type { SqlServer } from "./sql/server.js";

/** A bug to plant in each process as it starts, or in the disk. */
export interface Sabotage {
  process?(process: TrackerProcess): void;
  disk?(disk: Disk): void;
}

export interface WorldOptions {
  readonly directory: string;
  readonly keepsTrace?: boolean;
  readonly sabotage?: Sabotage | undefined;
  /** Where the schedule's outbox is in a database. */
  readonly server?: SqlServer | undefined;
}

/** The processes of one simulation, and all that is around them. */
export class World {
  readonly schedule: Schedule;
  readonly clock: VirtualClock;
  readonly ledger: Ledger;
  readonly service: Service;
  readonly disk = new Disk();
  readonly slots: readonly Slot[];
  readonly options: WorldOptions;
  /** Of hosts: those that are open. */
  readonly transactions = new Set<HostTransaction>();
  readonly #reporting = new Map<Owner, number>();
  /** When the last fault ended. */
  wellSince = 0;

  constructor(schedule: Schedule, options: WorldOptions) {
    const { seed, processes, repeated } = schedule;
    this.schedule = schedule;
    this.options = options;
    let turns = 0;
    this.clock = new VirtualClock((count) => Math.floor(chance(seed, "turn", turns++) * count));
    this.ledger = new Ledger(this.clock, {
      today: options.server ? this.clock.unset : this.clock.now,
      keepsTrace: options.keepsTrace === true,
      forgets: schedule.bounds !== undefined,
    });
    this.service = new Service({ clock: this.clock, seed, repeated, observer: this.ledger });
    this.slots = Array.from({ length: processes }, (_, index) => ({
      index,
      starts: 0,
      owner: undefined,
      process: undefined,
      host: {
        disk: this.disk,
        diskFault: undefined,
        serverFault: undefined,
        faultsSeen: 0,
        maxBytes: schedule.bounds?.maxBytes,
        service: this.service,
      },
    }));
    this.ledger.watcher = watcherOf(this.ledger);
    options.sabotage?.disk?.(this.disk);
  }

  /** Whether something other than the service may have kept a process from counting. */
  get isDisturbed(): boolean {
    const calm = /^(report|flood|fail|heal|set clock|cancel|flush|retry|discard|retry all)$/;
    return this.schedule.steps.some((step) => !calm.test(step.do));
  }

  /** The processes that are there, of each program. */
  get programs(): TrackerProcess[][] {
    const programs = new Map<string, TrackerProcess[]>();
    for (const { process } of this.slots) {
      if (process) programs.set(process.program, [...(programs.get(process.program) ?? []), process]);
    }
    return [...programs.values()];
  }

  /** Has the process do something, as a task of its own. */
  as(slot: Slot, task: (process: TrackerProcess) => void): void {
    const { process } = slot;
    if (process?.owner.isAlive) this.clock.soon(process.owner, () => task(process));
  }

  start(slot: Slot): void {
    if (slot.owner?.isAlive) return;
    const { schedule, clock, ledger, options } = this;
    const owner = newOwner(slot.index, slot.starts++);
    slot.owner = owner;
    slot.process = undefined;
    ledger.write(`${owner.name} starts`);
    clock.soon(owner, () => {
      try {
        slot.process = startProcess({ schedule, clock, ledger, ...options }, owner, slot);
        // The slot's faults are those of whatever process has it.
        slot.host = slot.process.host;
        options.sabotage?.process?.(slot.process);
      } catch (error) {
        if (slot.host.diskFault === undefined) throw error;
        ledger.write(`${owner.name} cannot start: ${(error as Error).message}`);
        owner.isAlive = false;
      }
    });
  }

  end(slot: Slot): void {
    const { process, owner } = slot;
    if (!owner?.isAlive) return;
    this.ledger.write(`${owner.name} ends`);
    this.ledger.pendingReceipts -= this.#reporting.get(owner) ?? 0;
    if (this.schedule.outbox === "memory") this.ledger.forgetAll();
    for (const transaction of this.transactions) {
      if (transaction.process !== process) continue;
      transaction.undo();
      this.transactions.delete(transaction);
    }
    if (process) kill(process);
    else owner.isAlive = false;
    slot.process = undefined;
  }

  report(slot: Slot, what: Happening, isKilled = false): void {
    this.as(slot, (process) => {
      const { ledger, clock } = this;
      const event = process.eventOf(what);
      const record = ledger.recordOf(event, process.program, what.number);
      const reportedAs = ledger.nextOrder();
      const reportedAt = clock.monotonic();
      const isKnown = record.storedAs !== Number.POSITIVE_INFINITY && record.ends.at(-1) !== "dropped";
      const notBefore = notBeforeOf(event);
      if (notBefore !== undefined) record.notBefore = Math.min(record.notBefore ?? notBefore, notBefore);
      ledger.reports(record, reportedAs);
      this.#expectReceipts(process.owner, 1);
      ledger.write(`${process.owner.name}: reports ${record.name}`);
      const isOpen = !process.shutdown.closed;
      const reporting = process.report(what);
      // The visitor may have the response from here on.
      record.isSpooled ||= this.schedule.outbox === "disk" && isOpen && process.outbox.durable;
      void reporting.then((receipt: Receipt) => {
        if (!process.owner.isAlive) return;
        this.#expectReceipts(process.owner, -1);
        const waitedMs = clock.monotonic() - reportedAt;
        checkReceipt(ledger, record, { process, receipt, reportedAt, waitedMs, isKnown });
        ledger.receipt(record, process.owner, reportedAs, receipt);
      });
      if (isKilled) this.end(slot);
    });
  }

  /** A host reports in a transaction of its own, and ends it some time later. */
  transact(slot: Slot, step: Extract<Step, { do: "transaction" }>): void {
    this.as(slot, (process) => {
      const { clock, ledger } = this;
      const server = this.options.server as SqlServer;
      const transaction = beginTransaction(step, { clock, ledger, process, server });
      this.transactions.add(transaction);
      void transaction.over.then(() => this.transactions.delete(transaction));
    });
  }

  #expectReceipts(owner: Owner, more: 1 | -1): void {
    this.ledger.pendingReceipts += more;
    this.#reporting.set(owner, (this.#reporting.get(owner) ?? 0) + more);
  }

  stall(slot: Slot, ms: number): void {
    const { owner } = slot;
    if (!owner?.isAlive || owner.isStalled) return;
    owner.isStalled = true;
    this.clock.after(this.clock.outside, ms, () => {
      noteStall(owner, this.clock.monotonic());
      owner.isStalled = false;
      // Lets it run again.
      this.clock.soon(owner, () => {});
    });
  }
}
