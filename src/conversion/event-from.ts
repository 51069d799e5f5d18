import { hash } from "node:crypto";
import { ArgumentError } from "../shared/errors.js";
import { ownCopy } from "../shared/text.js";
import type { EventOf, OutboxEvent, Provenance } from "./events.js";
import { FieldReader } from "./field-reader.js";
import type { InvalidInput } from "./invalid-input.js";
import { LONGEST_TEXT } from "./kind-row.js";
import { type EventKind, type KindTable, rowOf } from "./kinds.js";
import { paymentKey } from "./payment.js";
import { createPseudonyms, type Pseudonym } from "./pseudonyms.js";
import { dataFrom } from "./report.js";
import type { Attribution } from "./visitor-ids.js";

const ofThisProcess = createPseudonyms(undefined);

export interface EventContext {
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
  const own: Record<string, unknown> = {};
  for (const part of [data, provenance] as readonly Record<string, unknown>[]) {
    for (const name in part) {
      const value = part[name];
      if (value !== undefined) own[name] = typeof value === "string" ? ownCopy(value) : value;
    }
  }
  return own as Data & Provenance;
}
