import { hash } from "node:crypto";
import { ArgumentError } from "../shared/errors.js";
import { harmless } from "../shared/harmless.js";
import { ownCopy } from "../shared/text.js";
import type { EventOf, OutboxEvent, Provenance } from "./events.js";
import { FieldReader } from "./field-reader.js";
import { type InvalidInput, LONGEST_TEXT } from "./kind-row.js";
import { byKind, type EventData, type EventKind, type KindTable, rowOf } from "./kinds.js";
import { paymentKey } from "./payment.js";
import { createPseudonyms, type Pseudonym } from "./pseudonyms.js";
import { type Attribution, isTextOfNothing } from "./visitor-ids.js";

const ofThisProcess = createPseudonyms(undefined);

interface EventContext {
  readonly clientId: number;
  readonly now: number;
  /** Default: that of this process, without an API key. */
  readonly pseudonym?: Pseudonym | undefined;
  /** See `Provenance`. */
  readonly idempotencyKey?: string | undefined;
}

/** Makes an event of what a host reports. */
export function eventFrom<Kind extends EventKind>(
  kind: Kind,
  input: unknown,
  attribution: Attribution,
  { clientId, now, pseudonym = ofThisProcess, idempotencyKey }: EventContext,
): OutboxEvent | InvalidInput {
  const data = dataFrom(kind, input, attribution);
  if ("invalid" in data) return data;
  const row: KindTable[Kind] = rowOf(kind);
  const key = row.key(data, now, pseudonym);
  if (typeof key !== "string") return key;
  const event: EventOf<Kind> = {
    id: idOf(clientId, key),
    destination: clientId,
    kind,
    data: storedData(data, { idempotencyKey }),
    createdAt: now,
  };
  // TypeScript does not see that `EventOf<Kind>` is one member of the union `OutboxEvent`.
  return event as OutboxEvent;
}

/** @throws ArgumentError if there can be no such payment. */
export function paymentEventId(clientId: number, paymentId: unknown): string {
  const reader = new FieldReader({ paymentId });
  const id = reader.hostId("paymentId", LONGEST_TEXT);
  const [problem] = reader.problems;
  if (problem !== undefined) throw new ArgumentError(`cancelPayment: ${problem}`);
  return idOf(clientId, paymentKey(id));
}

// With the client id: two programs may both have an order 1.
function idOf(clientId: number, key: string): string {
  return ownCopy(hash("sha256", `${clientId} ${key}`).slice(0, 32));
}

/**
 * The defined properties. Each text is copied, so that it does not keep the request in memory. No
 * spreads: they take microseconds in Node 20.
 */
function storedData<Data extends object>(data: Data, provenance: Provenance): Data & Provenance {
  const stored: Record<string, unknown> = {};
  for (const part of [data, provenance] as readonly Record<string, unknown>[]) {
    for (const name in part) {
      const value = part[name];
      if (value !== undefined) stored[name] = typeof value === "string" ? ownCopy(value) : value;
    }
  }
  return stored as Data & Provenance;
}

/** Reads what a host reports, or says why it is no event. */
function dataFrom<Kind extends EventKind>(
  kind: Kind,
  input: unknown,
  ids: Attribution,
): EventData[Kind] | InvalidInput {
  if (!isReport(input)) return { invalid: "it must be an object" };
  const row: KindTable[Kind] = rowOf(kind);
  const reader = new FieldReader(input);
  const data = harmless(() => row.read(reader, ids));
  if (data === undefined) return { invalid: "it threw when it was read" };
  return reader.problems.length === 0 ? data : { invalid: reader.problems.join("; ") };
}

// The fields of each kind: what it asks an empty report for.
const NAMES = byKind((kind) => {
  const reader = new FieldReader({});
  rowOf(kind).read(reader, {});
  return reader.askedFor;
});

export function fieldNames(kind: EventKind): readonly string[] {
  return NAMES[kind];
}

/** The names of a report's fields that its kind does not have: they are not sent. */
export function unknownFields(kind: EventKind, input: unknown): string[] {
  return entriesOf(input).flatMap(([name]) => (NAMES[kind].includes(name) ? [] : [name]));
}

/** The ids in a report that are ignored, with what each is. */
export function ignoredIds(kind: EventKind, input: unknown): { name: string; id: unknown }[] {
  return entriesOf(input).flatMap(([name, id]) => {
    if (!NAMES[kind].includes(name) || !name.endsWith("Id")) return [];
    const isNone = isTextOfNothing(id) || (VISITORS.includes(name) && typeof (id ?? "") !== "string");
    return isNone ? [{ name, id }] : [];
  });
}

const VISITORS = ["clickId", "sessionId"];

/** The host's own name for a conversion, for a log line. */
export function hostIdIn(input: unknown): string | undefined {
  const reader = new FieldReader(Object(input));
  const names = ["paymentId", "customerId"];
  return harmless(() => names.map((name) => reader.optionalHostId(name, LONGEST_TEXT)).find(Boolean));
}

function entriesOf(input: unknown): [string, unknown][] {
  return isReport(input) ? (harmless(() => Object.entries(input)) ?? []) : [];
}

function isReport(input: unknown): input is object {
  return typeof input === "object" && input !== null && !Array.isArray(input);
}
