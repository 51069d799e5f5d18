import { EventEmitter, on } from "node:events";
import type { Answer } from "../http.js";
import {
  type Click,
  type Entries,
  type Entry,
  type Expected,
  type Kind,
  type Lead,
  type Link,
  matches,
  type NewClick,
  type NewLead,
  type Payment,
  type RecordedRequest,
  type Registration,
  type Where,
} from "./entries.js";
import type { Journal } from "./journal.js";

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
   * Rejects after `timeoutMs` with a message that says what came instead, and when the sandbox
   * closes.
   */
  waitFor<K extends Kind>(
    expected: Expected<K>,
    options?: {
      /** In milliseconds. Default 4,000: test runners end a test after 5,000. */
      timeoutMs?: number;
    },
  ): Promise<Entries[K]>;
  /** Forgets everything, also the answers kept for Idempotency-Keys. Ids continue. */
  clear(): void;
}

/** What is kept of an answer, to be given again to the same Idempotency-Key. */
interface KeptAnswer {
  readonly kind: "answer";
  readonly of: string;
  readonly answer: Answer;
}

/** The ids given last, which go on after everything was forgotten. */
interface Head {
  readonly kind: "ledger";
  readonly lastIds: { click: number; lead: number; request: number };
}

type Line = Entry | KeptAnswer | Head;

/** As the service writes it. Synchronous: nothing comes between reading and writing. */
export type LedgerStore = ReturnType<typeof openLedger>;

const KEPT = 5000;
/** After a flood, 5000 requests with their bodies would be hundreds of megabytes. */
const MOST_SAID = 20;

/** What a request may leave out. */
const CLICK = {
  clickId: null,
  sessionId: null,
  clickedUrl: null,
  referrerUrl: null,
  userAgent: null,
  source: null,
};
const LEAD = { clickId: null, sessionId: null, customerId: null, customerName: null, leadValue: null };

/** A customer is an e-mail address, whatever its case. */
const customerIn = ({ customerEmail }: Pick<Lead, "customerEmail">) => customerEmail.toLowerCase();

function emptyMemory() {
  return {
    entries: [] as (Click | Lead)[],
    requests: [] as RecordedRequest[],
    answers: new Map<string, KeptAnswer>(),
    /** The first click with a client-supplied id, and the last of a session. */
    clickOf: new Map<string, Click>(),
    lastClickOf: new Map<string, Click>(),
    /** A customer's last registration, and the customers who registered through a click. */
    registrationOf: new Map<string, Lead>(),
    customersOf: new Map<number, Set<string>>(),
    /** Leads with ids of which no click has come so far. */
    early: new Map<string, Set<Lead>>(),
  };
}

/** In a file, or in memory alone. Closes the file if it cannot be read or replaced, and throws. */
export function openLedger(journal?: Journal) {
  const events = new EventEmitter<{ entry: [Entry]; clear: [] }>().setMaxListeners(0);
  const closing = new AbortController();
  const lastIds = { click: 0, lead: 0, request: 0 };
  let memory = emptyMemory();
  let unsaved: Line[] = [];

  try {
    for (const line of journal?.read() ?? []) take(line as Line);
    rewrite();
  } catch (error) {
    journal?.close();
    throw error;
  }

  function take(line: Line): void {
    if (line.kind === "ledger") Object.assign(lastIds, line.lastIds);
    else if (line.kind === "answer") memory.answers.set(line.of, line);
    else if (line.kind === "request") takeRequest(line);
    else {
      memory.entries.push(line);
      if (line.kind === "click") takeClick(line);
      else takeLead(line);
    }
  }
  function takeRequest(request: RecordedRequest): void {
    lastIds.request = request.id;
    if (memory.requests.push(request) > KEPT) memory.requests.shift();
  }
  function takeClick(click: Click): void {
    const { id, clickId, sessionId } = click;
    lastIds.click = id;
    if (clickId !== null) memory.clickOf.set(clickId, click);
    if (sessionId !== null) memory.lastClickOf.set(sessionId, click);
    for (const key of [`click ${clickId}`, `session ${sessionId}`]) {
      for (const lead of memory.early.get(key) ?? []) Object.assign(lead, { notLinked: "click-came-after" });
      memory.early.delete(key);
    }
  }
  function takeLead(lead: Lead): void {
    const { id, kind, linkedClick, notLinked, clickId, sessionId } = lead;
    lastIds.lead = id;
    if (notLinked === "no-click-with-this-click-id") addTo(memory.early, `click ${clickId}`, lead);
    if (notLinked === "no-click-with-this-session-id") addTo(memory.early, `session ${sessionId}`, lead);
    if (kind === "payment") return;
    memory.registrationOf.set(customerIn(lead), lead);
    if (linkedClick !== null) addTo(memory.customersOf, linkedClick, customerIn(lead));
  }

  function add<Added extends Line>(line: Added): Added {
    unsaved.push(line);
    return line;
  }
  /** Records what was added, all of it or nothing if the file cannot be written, and tells those who wait. */
  function save(): void {
    const lines = unsaved;
    unsaved = [];
    if (!closing.signal.aborted) journal?.append(lines);
    for (const line of lines) take(line);
    for (const line of lines)
      if (line.kind !== "answer" && line.kind !== "ledger") events.emit("entry", line);
  }
  /** Leaves out the requests that are no longer kept. */
  function rewrite(): void {
    if (closing.signal.aborted) return;
    const { entries, answers, requests } = memory;
    journal?.rewrite([{ kind: "ledger", lastIds }, ...entries, ...answers.values(), ...requests]);
  }

  function find<K extends Kind>(kind: K, where: object = {}): Entries[K][] {
    const all: Entry[] = kind === "request" ? memory.requests : memory.entries;
    return all
      .filter((entry): entry is Entries[K] => entry.kind === kind)
      .filter((entry) => matches(entry, where));
  }

  return {
    events,
    clicks: (where?: Where<Click>) => find("click", where),
    registrations: (where?: Where<Registration>) => find("registration", where),
    payments: (where?: Where<Payment>) => find("payment", where),
    leads: (where: Where<Lead> = {}) =>
      memory.entries.filter((entry): entry is Lead => entry.kind !== "click" && matches(entry, where)),
    requests: (where?: Where<RecordedRequest>) => find("request", where),

    async waitFor<K extends Kind>(
      { kind, ...where }: Expected<K>,
      { timeoutMs = 4_000 } = {},
    ): Promise<Entries[K]> {
      const [first] = find(kind, where);
      if (first) return first;
      const timeout = AbortSignal.timeout(timeoutMs);
      const signal = AbortSignal.any([timeout, closing.signal]);
      try {
        for await (const [entry] of on(events, "entry", { signal }))
          if (entry.kind === kind && matches(entry, where)) return entry;
      } catch {
        // Said below.
      }
      const subject = `sandbox: no ${kind} with ${JSON.stringify(where)} came`;
      if (!timeout.aborted) throw new Error(`${subject} before the sandbox was closed`);
      const all = find(kind);
      const came = all.slice(-MOST_SAID).map((entry) => `\n  ${JSON.stringify(entry)}`);
      const many = all.length > MOST_SAID ? ` ${all.length}, the last of them` : "";
      const instead = all.length > 0 ? `${many}:${came.join("")}` : ` no ${kind}`;
      throw new Error(`${subject} within ${timeoutMs} ms; the ledger has${instead}`);
    },

    /** Clicks, registrations and payments, in order of arrival. */
    entries: (): readonly (Click | Lead)[] => memory.entries,
    clickOf: (clickId: string) => memory.clickOf.get(clickId),
    /** The later of two affiliates' links decides. */
    lastClickOf: (sessionId: string) => memory.lastClickOf.get(sessionId),
    registrationOf: (customer: Pick<Lead, "customerEmail">) =>
      memory.registrationOf.get(customerIn(customer)),
    /** The customers who registered through that click, in lower case. */
    customersOf: (click: number): ReadonlySet<string> => memory.customersOf.get(click) ?? new Set(),
    answerTo: (of: string) => memory.answers.get(of)?.answer,

    addClick({ clientId: _, ...fields }: NewClick): Click {
      const [id, at] = [lastIds.click + 1, new Date().toISOString()];
      return add({ kind: "click", id, at, ...CLICK, ...fields } as Click);
    },
    addLead({ clientId: _, leadType: __, ...fields }: NewLead, link: Link): Lead {
      const [id, at] = [lastIds.lead + 1, new Date().toISOString()];
      return add({ id, at, ...LEAD, ...fields, ...link } as Lead);
    },
    keepAnswer: (of: string, { status, body }: Answer) =>
      void add({ kind: "answer", of, answer: { status, body } }),
    save,
    addRequest(request: Omit<RecordedRequest, "kind" | "id">): void {
      const { id } = add({ kind: "request", id: lastIds.request + 1, ...request });
      save();
      if (id % KEPT === 0) rewrite();
    },

    clear() {
      memory = emptyMemory();
      rewrite();
      events.emit("clear");
    },
    close() {
      if (closing.signal.aborted) return;
      closing.abort();
      journal?.close();
    },
  } satisfies Ledger & Record<string, unknown>;
}

function addTo<Key, Value>(sets: Map<Key, Set<Value>>, key: Key, value: Value): void {
  sets.set(key, (sets.get(key) ?? new Set()).add(value));
}
