import type { Outbox, OutboxEvent, Receipt } from "express-affiliate";
import { mysqlOutbox } from "express-affiliate/mysql";
import { postgresOutbox } from "express-affiliate/postgres";
import { eventFrom } from "../../src/conversion/event-from.js";
import { IF_MAYBE_TAKEN } from "../../src/conversion/kinds.js";
import { createPseudonyms } from "../../src/conversion/pseudonyms.js";
import { createDelivery, type Delivery } from "../../src/delivery/delivery.js";
import { createJournal, type Journal } from "../../src/journal/journal.js";
import { diskOutbox } from "../../src/outbox/disk/disk-outbox.js";
import { memoryOutbox } from "../../src/outbox/memory/memory-outbox.js";
import { callsFor } from "../../src/service/calls.js";
import type { Clock } from "../../src/shared/clock.js";
import { Secret } from "../../src/shared/secret.js";
import { createShutdown } from "../../src/shutdown.js";
import { createTrack, type Track } from "../../src/track.js";
import { type Owner, ownerNamed, type VirtualClock } from "./clock.js";
import { giveHost, type Host, type HostOfSlot } from "./host.js";
import type { Ledger } from "./ledger.js";
import { numbersFrom } from "./random.js";
import type { Happening, Schedule } from "./schedule.js";
import { mysqlPool, Pool, postgresPool } from "./sql/pool.js";
import { PREFIX, SCHEMA } from "./sql/real-server.js";
import type { SqlServer } from "./sql/server.js";
import { createTransport } from "./transport.js";

const API_KEY = "of the simulation";
const pseudonym = createPseudonyms(API_KEY);

/** A tracker as `affiliate()` wires it, in a process that can be killed. */
export interface TrackerProcess {
  readonly owner: Owner;
  readonly program: string;
  readonly outbox: Outbox;
  readonly delivery: Delivery;
  readonly journal: Journal;
  readonly shutdown: ReturnType<typeof createShutdown>;
  readonly host: Host;
  /** Its connections to the database. */
  readonly pool: Pool | undefined;
  /** The event that this process makes of what happened. */
  eventOf(what: Happening): OutboxEvent;
  report(what: Happening, transaction?: unknown): Promise<Receipt>;
}

/** A slot for one process at a time. */
export interface Slot {
  readonly index: number;
  starts: number;
  owner: Owner | undefined;
  process: TrackerProcess | undefined;
  host: HostOfSlot;
}

/** What all processes of a simulation share. */
interface Shared {
  readonly schedule: Schedule;
  readonly clock: VirtualClock;
  readonly ledger: Ledger;
  readonly directory: string;
  readonly server?: SqlServer | undefined;
}

export const CONCURRENCY = 8;

// Of five seconds there are a fifth as many as of one.
const POLL_MS = 4_000;

/** Starts a process: throws if the tracker's outbox cannot be made. Called as one of its tasks. */
export function startProcess(shared: Shared, owner: Owner, slot: Slot): TrackerProcess {
  const { clock: time, ledger, schedule, directory, server } = shared;
  // A program is a client id.
  const clientId = 1 + (slot.index % schedule.programs);
  const program = String(clientId);
  const random = numbersFrom(`${schedule.seed} ${owner.name}`);
  const host: Host = { ...slot.host, random, threadsStarted: 0, threads: new Set() };
  giveHost(owner, host);
  const { now, monotonic } = time;
  const clock: Clock = { now, monotonic, after: (ms, task) => time.after(owner, ms, task) };
  const journal = createJournal({ logger: ledger.loggerOf(owner), clock });
  const pool = server && new Pool({ server, clock: time, owner, meeting: host });
  const outbox = pool ? createSqlOutbox(schedule, pool, clock) : createOutbox(schedule, directory, clock);
  // A notice of a skipped event does not say which event it was.
  const { skipped } = journal;
  Object.assign(journal, {
    skipped(...[kind, reason, event]: Parameters<Journal["skipped"]>) {
      if (event) ledger.listener(process, "skipped")(event);
      skipped(kind, reason, event);
    },
  });
  const transport = createTransport(program);
  const delivery = createDelivery({
    transport,
    calls: callsFor(clientId),
    // The ledger knows events by their ids.
    keyOf: ({ id }) => id,
    hide: (text) => text,
    concurrency: CONCURRENCY,
    maxAgeMs: schedule.maxAgeMs,
    ambiguous: IF_MAYBE_TAKEN,
    confirmReferral: "login-session",
    unanswered: outbox.unanswered,
    onCapacity: () => outbox.wake(),
    ...{ journal, clock, random },
  });
  const shutdown = createShutdown({ outbox, delivery, transport, journal });
  const track: Track = createTrack({
    apiKey: new Secret(API_KEY),
    clientId,
    enabled: true,
    outbox,
    journal,
    clock,
    isClosed: () => shutdown.closed,
  });
  const process = { owner, program, outbox, delivery, journal, shutdown, host, pool, eventOf, report };
  for (const end of ["delivered", "dead"] as const) {
    journal.emitter.on(end, ledger.listener(process, end) as (notice: unknown) => void);
  }
  // For events that were in the outbox alone: the journal has notices of refused ones too.
  const dropped = ledger.listener(process, "dropped");
  outbox.bind(clientId);
  outbox.start(delivery, {
    dropped(event, reason) {
      journal.dropped(event.kind, reason, { event });
      dropped({ id: event.id, reason });
    },
    degraded: (error) => ledger.degraded(process, error),
    recovered: () => {},
  });

  /** By the clock that judges. By the host's own, a payment would wait while that is ahead. */
  const today = (): number => (server ? time.unset() : time.now());

  function eventOf(what: Happening): OutboxEvent {
    const context = { clientId, now: clock.now(), pseudonym };
    return eventFrom(what.kind, inputOf(what, program, today()), attributionOf(what), context) as OutboxEvent;
  }

  function report(what: Happening, transaction?: unknown): Promise<Receipt> {
    return track(what.kind, inputOf(what, program, today()), attributionOf(what), { transaction });
  }

  return process;
}

/** As `kill -9` does: it does nothing any more, and its claims stay. */
export function kill({ owner, pool }: TrackerProcess): void {
  pool?.lose();
  owner.isAlive = false;
  owner.ready.length = 0;
}

function createOutbox({ outbox, bounds, leaseMs }: Schedule, directory: string, clock: Clock): Outbox {
  if (outbox === "memory") return memoryOutbox(bounds ?? {}, clock);
  return diskOutbox({ directory, leaseMs, maxDeadLetters: bounds?.maxDeadLetters }, clock);
}

function createSqlOutbox({ outbox, bounds, leaseMs }: Schedule, pool: Pool, clock: Clock): Outbox {
  const given = {
    ...{ pollMs: POLL_MS, leaseMs },
    ...(bounds && { maxEvents: bounds.maxEvents, maxDeadLetters: bounds.maxDeadLetters }),
  };
  if (outbox === "mysql") return mysqlOutbox({ ...given, pool: mysqlPool(pool), prefix: PREFIX }, clock);
  return postgresOutbox({ ...given, pool: postgresPool(pool), schema: SCHEMA }, clock);
}

function inputOf(
  { number, kind, visitor, clickId, waitsMs }: Happening,
  program: string,
  now: number,
): object {
  const email = `visitor-${visitor}@shop-${program}.example`;
  if (kind === "click") return { affiliateReference: "ALICE", clickId, source: program };
  if (kind === "payment") {
    const notBefore = waitsMs === undefined ? undefined : new Date(now + waitsMs);
    return { paymentId: number, customerEmail: email, leadValue: number + 1, notBefore };
  }
  return { email, customerId: number, customerName: String(number) };
}

function attributionOf({ clickId, sessionId }: Happening) {
  return { ...(clickId !== undefined && { clickId }), ...(sessionId !== undefined && { sessionId }) };
}

export function newOwner(index: number, times: number): Owner {
  return ownerNamed(`process ${index}${"'".repeat(times)}`);
}
