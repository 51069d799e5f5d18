import { EventEmitter } from "node:events";
import type { RequestTo } from "../endpoints.js";
import {
  type Click,
  type Entries,
  type Entry,
  type Expected,
  type Kind,
  type Lead,
  type Link,
  matches,
  type Payment,
  type RecordedRequest,
  type Registration,
  type Where,
} from "./entries.js";
import { closeLedgerFile, type Database, IN_MEMORY, openLedgerFile } from "./file.js";
import {
  type AffiliateTotals,
  affiliatesView,
  answersTable,
  clicksTable,
  leadsTable,
  type NewLead,
  requestsTable,
} from "./tables.js";

/** What the service has recorded, for tests to read. Lists are in order of arrival. */
export interface Ledger {
  /** The clicks whose fields equal those given. */
  clicks(where?: Where<Click>): Click[];
  /** The registrations whose fields equal those given. */
  registrations(where?: Where<Registration>): Registration[];
  /** The payments whose fields equal those given. */
  payments(where?: Where<Payment>): Payment[];
  /** Registrations and payments. */
  leads(where?: Where<Lead>): Lead[];
  /** Requests to the tracking endpoints; the last 5000 are kept. */
  requests(where?: Where<RecordedRequest>): RecordedRequest[];
  /**
   * Resolves with the first entry of that kind whose fields equal those given, now or later.
   * Rejects after `timeoutMs` (default 4,000 ms: test runners end a test after 5,000) with a message that says what came instead, and
   * when the sandbox closes.
   */
  waitFor<K extends Kind>(expected: Expected<K>, options?: { timeoutMs?: number }): Promise<Entries[K]>;
  /** Forgets everything, also the answers kept for Idempotency-Keys. Ids continue. */
  clear(): void;
}

/** As the service writes it. Synchronous: nothing comes between reading and writing. */
export interface LedgerStore extends Ledger {
  readonly events: LedgerEvents;
  readonly tables: Tables;
  /** Within `atomically`, as `addLead`. */
  addClick(click: RequestTo<"click">): Click;
  addLead(lead: NewLead, link: Link): Lead;
  addRequest(request: Omit<RecordedRequest, "kind" | "id">): void;
  affiliates(): AffiliateTotals[];
  /** All that `work` writes is kept, or none of it. */
  atomically<T>(work: () => T): T;
  close(): void;
}

type Tables = ReturnType<typeof tablesOf>;

function tablesOf(database: Database) {
  return {
    clicks: clicksTable(database),
    leads: leadsTable(database),
    requests: requestsTable(database),
    answers: answersTable(database),
  };
}

/** In `file`, or in memory. Throws if the file is in use or is something else. */
export function openLedger(file = IN_MEMORY): LedgerStore {
  const database = openLedgerFile(file);
  const tables = tablesOf(database);
  const { clicks, leads, requests } = tables;
  const events: LedgerEvents = new EventEmitter();
  events.setMaxListeners(0);
  /** Not committed yet. Listeners are called once it is. */
  let written: Entry[] = [];

  function find<K extends Kind>(kind: K, where: object = {}): Entries[K][] {
    const entries =
      kind === "click" ? clicks.last() : kind === "request" ? requests.latest().reverse() : leads.all();
    return entries
      .filter((entry): entry is Entries[K] => entry.kind === kind)
      .filter((entry) => matches(entry, where));
  }

  return {
    events,
    tables,
    clicks: (where) => find("click", where),
    registrations: (where) => find("registration", where),
    payments: (where) => find("payment", where),
    leads: (where = {}) => leads.all().filter((lead) => matches(lead, where)),
    requests: (where) => find("request", where),
    async waitFor({ kind, ...where }, { timeoutMs = 4_000 } = {}) {
      const [first] = find(kind, where);
      return first ?? nextEntry(events, { kind, where }, timeoutMs, () => find(kind));
    },

    addClick(request) {
      const click = clicks.add(request);
      leads.cameBefore(click);
      written.push(click);
      return click;
    },
    addLead(request, link) {
      const lead = leads.add(request, link);
      written.push(lead);
      return lead;
    },
    addRequest: (request) => void events.emit("entry", requests.add(request)),
    affiliates: affiliatesView(database).totals,

    atomically(work) {
      written = [];
      database.exec("begin");
      try {
        const result = work();
        database.exec("commit");
        for (const entry of written) events.emit("entry", entry);
        return result;
      } catch (error) {
        database.exec("rollback");
        throw error;
      }
    },
    clear() {
      database.exec(
        "begin; delete from leads; delete from clicks; delete from requests; delete from answers; commit",
      );
      events.emit("clear");
    },
    close() {
      events.emit("close");
      closeLedgerFile(database);
    },
  };
}

type LedgerEvents = EventEmitter<{ entry: [Entry]; clear: []; close: [] }>;

/** After a flood, 5000 requests with their bodies would be hundreds of megabytes. */
const MOST_SAID = 20;

/** The next entry with those fields. `seen` is called for a timeout's message. */
function nextEntry<K extends Kind>(
  events: LedgerEvents,
  { kind, where }: { kind: K; where: object },
  timeoutMs: number,
  seen: () => Entry[],
): Promise<Entries[K]> {
  const subject = `sandbox: no ${kind} with ${JSON.stringify(where)} came`;

  return new Promise(function await_(resolve, reject) {
    const timer = setTimeout(onTimeout, timeoutMs);
    events.on("entry", onEntry).on("close", onClose);

    function onEntry(entry: Entry) {
      if (entry.kind === kind && matches(entry, where)) settle(() => resolve(entry as Entries[K]));
    }
    function onTimeout() {
      const all = seen();
      const came = all.slice(-MOST_SAID).map((entry) => `\n  ${JSON.stringify(entry)}`);
      const many = all.length > MOST_SAID ? ` ${all.length}, the last of them` : "";
      const instead =
        came.length > 0 ? `the ledger has${many}:${came.join("")}` : `the ledger has no ${kind}`;
      settle(() => reject(new Error(`${subject} within ${timeoutMs} ms; ${instead}`)));
    }
    function onClose() {
      settle(() => reject(new Error(`${subject} before the sandbox was closed`)));
    }
    function settle(how: () => void) {
      clearTimeout(timer);
      events.off("entry", onEntry).off("close", onClose);
      how();
    }
  });
}
