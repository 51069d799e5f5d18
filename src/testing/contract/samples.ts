import { randomBytes } from "node:crypto";
import type { Attribution, EventData, EventKind, OutboxEvent } from "../../events.js";

const DETAILS: { readonly [Kind in EventKind]: Omit<EventData[Kind], keyof Attribution> } = {
  click: {
    affiliateReference: "ALICE",
    clickedUrl: "https://shop.example/?ref=ALICE",
    userAgent: "Mözilla/5.0",
  },
  registration: { email: "ann@shop.example", customerId: "7", customerName: "Ann O'Neill" },
  payment: { paymentId: "2024-17", customerEmail: "ann@shop.example", leadValue: 19.9 },
} as never;

/** The destination of the samples. */
export const DESTINATION = 42;

/** A new event of a visitor with these ids. Default: a new visitor. */
export function sample(kind: EventKind, visitor: Attribution = stranger()): OutboxEvent {
  return {
    id: randomBytes(16).toString("hex"),
    destination: DESTINATION,
    kind,
    data: { ...visitor, ...DETAILS[kind] },
    createdAt: Date.now() - 1_000,
  } as OutboxEvent;
}

/** A new payment that is due in so many milliseconds. */
export function scheduledSample(inMs: number, visitor: Attribution = stranger()): OutboxEvent {
  const payment = sample("payment", visitor);
  return { ...payment, data: { ...payment.data, notBefore: Date.now() + inMs } } as OutboxEvent;
}

/** A new event of a customer with this address. */
export function sampleOf(email: string, kind: EventKind, visitor: Attribution = stranger()): OutboxEvent {
  const event = sample(kind, visitor);
  const name = { click: undefined, registration: "email", payment: "customerEmail" }[kind];
  return { ...event, data: { ...event.data, ...(name && { [name]: email }) } } as OutboxEvent;
}

/** A new event with a text of so many characters. */
export function largeSample(kind: EventKind, length: number): OutboxEvent {
  const event = sample(kind);
  return { ...event, data: { ...event.data, customerName: "x".repeat(length) } } as OutboxEvent;
}

/** The ids of a new visitor. */
export function stranger(): Required<Attribution> {
  return { clickId: randomBytes(8).toString("hex"), sessionId: randomBytes(8).toString("hex") };
}

/** The events of a visitor who clicks, signs up and pays. */
export type Paying = readonly [click: OutboxEvent, registration: OutboxEvent, payment: OutboxEvent];

/** The same. The payment knows the session id alone. */
export function paying(): Paying {
  const visitor = stranger();
  return [...signingUp(visitor), sample("payment", { sessionId: visitor.sessionId })];
}

/** The events of a visitor who clicks and signs up. */
export function signingUp(visitor = stranger()): readonly [click: OutboxEvent, registration: OutboxEvent] {
  return [sample("click", visitor), sample("registration", visitor)];
}
