import { hash, randomUUID } from "node:crypto";
import { ArgumentError } from "../shared/errors.js";
import { harmless } from "../shared/harmless.js";
import { ownCopy } from "../shared/text.js";
import type { OutboxEvent } from "./events.js";
import { type Field, hostId, NO_ID, optionalHostId, Wrong } from "./fields.js";
import type { InvalidInput } from "./kind-row.js";
import { byKind, type EventData, type EventKind, type KindTable, rowOf } from "./kinds.js";
import { paymentKey } from "./payment.js";
import { createPseudonyms, type Pseudonym } from "./pseudonyms.js";
import type { Attribution } from "./visitor-ids.js";

const ofThisProcess = createPseudonyms(undefined);

const FIELDS = byKind((kind) => Object.entries<Field<unknown>>(rowOf(kind).fields));

interface EventContext {
  readonly clientId: number;
  readonly now: number;
  /** Default: that of this process, without an API key. */
  readonly pseudonym?: Pseudonym | undefined;
  /** See `Provenance`. */
  readonly idempotencyKey?: string | undefined;
  /** Called with the names of fields that are not sent, if there are any. */
  readonly onUnknown?: (names: readonly string[]) => void;
  /** Called for each field whose value is ignored because it is no id. */
  readonly onNoId?: (name: string, given: unknown) => void;
}

/** Makes an event of what a host reports, or says why it is none. */
export function eventFrom<Kind extends EventKind>(
  kind: Kind,
  input: unknown,
  attribution: Attribution,
  context: EventContext,
): OutboxEvent | InvalidInput {
  if (typeof input !== "object" || input === null || Array.isArray(input))
    return { invalid: "it must be an object" };
  const { clientId, now, pseudonym = ofThisProcess, idempotencyKey } = context;
  const row: KindTable[Kind] = rowOf(kind);
  const given = {
    // What needs no visitor has an id of its own.
    clickId: row.needsVisitorId === "never" ? randomUUID() : undefined,
    ...attribution,
    idempotencyKey,
  };
  const problems: string[] = [];
  const data = harmless(() => dataFrom(kind, input, given, problems, context) as EventData[Kind]);
  if (data === undefined) return { invalid: "it threw when it was read" };
  if (problems.length > 0) return { invalid: problems.join("; ") };
  const key = row.key(data, now, pseudonym);
  if (typeof key !== "string") return key;
  // TypeScript does not see that this is one member of the union `OutboxEvent`.
  return { id: idOf(clientId, key), destination: clientId, kind, data, createdAt: now } as OutboxEvent;
}

/** @throws ArgumentError if there can be no such payment. */
export function paymentEventId(clientId: number, paymentId: unknown): string {
  const id = hostId(paymentId);
  if (id instanceof Wrong) throw new ArgumentError(`cancelPayment: \`paymentId\`: ${id.why}`);
  return idOf(clientId, paymentKey(id));
}

// With the client id: two programs may both have an order 1.
function idOf(clientId: number, key: string): string {
  return ownCopy(hash("sha256", `${clientId} ${key}`).slice(0, 32));
}

/**
 * The given values, and those of the report. Each text is copied, so that it does not keep the
 * request in memory.
 */
function dataFrom(
  kind: EventKind,
  input: object,
  given: object,
  problems: string[],
  { onUnknown, onNoId }: EventContext,
): unknown {
  const data: Record<string, unknown> = {};
  function keep(name: string, value: unknown): void {
    if (value !== undefined) data[name] = typeof value === "string" ? ownCopy(value) : value;
  }

  const { fields } = rowOf(kind);
  const unknown = Object.keys(input).filter((name) => !Object.hasOwn(fields, name));
  if (unknown.length > 0) onUnknown?.(unknown);
  for (const [name, value] of Object.entries(given)) keep(name, value);
  for (const [name, field] of FIELDS[kind]) {
    const reported: unknown = Reflect.get(input, name);
    const value = field(reported);
    if (value === NO_ID) onNoId?.(name, reported);
    else if (value instanceof Wrong) problems.push(`\`${name}\`: ${value.why}`);
    else keep(name, value);
  }
  return data;
}

/** The host's own name for a conversion, for a log line. */
export function hostIdIn(input: unknown): string | undefined {
  const idOf = (name: string) => optionalHostId(Reflect.get(Object(input), name));
  return harmless(() =>
    ["paymentId", "customerId"].map(idOf).find((id): id is string => typeof id === "string"),
  );
}
