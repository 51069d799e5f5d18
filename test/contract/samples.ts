import { randomBytes } from "node:crypto";
import type { EventData, EventKind, OutboxEvent } from "../../src/conversion/events.js";
import { rowOf } from "../../src/conversion/kinds.js";
import type { Attribution } from "../../src/conversion/visitor-ids.js";
import type { Lane } from "../../src/outbox/outbox.js";
import type { Endpoint } from "../../src/service/endpoints.js";

// Not for each kind: an outbox keeps data that it does not know, too.
const DETAILS: { readonly [Kind in EventKind]?: Omit<EventData[Kind], keyof Attribution> } = {
  click: {
    affiliateReference: "ALICE",
    clickedUrl: "https://shop.example/?ref=ALICE",
    userAgent: "Mözilla/5.0",
  },
  registration: { email: "ann@shop.example", customerId: "7", customerName: "Ann O'Neill" },
  payment: { paymentId: "2024-17", customerEmail: "ann@shop.example", leadValue: 19.9 },
};

/** As long as no test lasts. */
export const LONG_MS = 3_600_000;

export const idsOf = (all: readonly { readonly id: string }[]) => all.map(({ id }) => id);

export const DESTINATION = 42;

/** Default: of a new visitor. */
export function sample(kind: EventKind, visitor: Attribution = stranger()): OutboxEvent {
  return {
    id: randomBytes(16).toString("hex"),
    destination: DESTINATION,
    kind,
    data: { ...visitor, ...DETAILS[kind] },
    createdAt: Date.now() - 1_000,
  } as OutboxEvent;
}

export function withData(event: OutboxEvent, data: object): OutboxEvent {
  return { ...event, data: { ...event.data, ...data } } as OutboxEvent;
}

export function scheduledSample(inMs: number, visitor?: Attribution): OutboxEvent {
  return withData(sample("payment", visitor), { notBefore: Date.now() + inMs });
}

export function sampleOf(email: string, kind: EventKind, visitor?: Attribution): OutboxEvent {
  const name = rowOf(kind).emailField;
  return withData(sample(kind, visitor), name ? { [name]: email } : {});
}

export function largeSample(kind: EventKind, length: number): OutboxEvent {
  return withData(sample(kind), { customerName: "x".repeat(length) });
}

export function stranger(): Required<Attribution> {
  return { clickId: randomBytes(8).toString("hex"), sessionId: randomBytes(8).toString("hex") };
}

/** Of a visitor who clicks, signs up and pays. */
export type Paying = readonly [click: OutboxEvent, registration: OutboxEvent, payment: OutboxEvent];

/** The payment knows the session id alone. */
export function paying(): Paying {
  const visitor = stranger();
  return [...signingUp(visitor), sample("payment", { sessionId: visitor.sessionId })];
}

export function signingUp(visitor = stranger()): readonly [click: OutboxEvent, registration: OutboxEvent] {
  return [sample("click", visitor), sample("registration", visitor)];
}

export function lane(endpoint: Endpoint, rules: Partial<Lane> = {}): Lane {
  return { endpoint, limit: Number.POSITIVE_INFINITY, ...rules };
}
