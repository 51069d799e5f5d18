import type { EventData, EventKind } from "./kinds.js";

export type { ConversionKind, EventData, EventKind } from "./kinds.js";

/**
 * The vocabulary of the package.
 *
 * - A **visitor** is known by a click id, a session id, or both: their **attribution**.
 * - A **conversion** is a registration or a payment.
 * - An **event** is a click or a conversion on its way to the service. Its id is a digest of its
 *   key (a payment's `paymentId`), so that the same conversion, reported twice, is the same event.
 * - An **outbox** keeps events until an **attempt** delivers them, or they become **dead letters**.
 * - A **scheduled** payment waits in the outbox for its `notBefore`. It enters its visitor's queue
 *   only then.
 */

/** Data of an event that delivery needs and does not send. */
export interface Provenance {
  /** If reported without an API key: its `Idempotency-Key`, 32 random hex digits. Never shown. */
  readonly idempotencyKey?: string | undefined;
}

export type EventOf<Kind extends EventKind> = {
  /** 32 hex digits, the same for each report of the same event: the dedupe key. */
  readonly id: string;
  /** The client id that it was reported for. It tells programs on one storage apart. */
  readonly destination: number;
  readonly kind: Kind;
  readonly data: EventData[Kind] & Provenance;
  /** When it happened, in milliseconds since the epoch. */
  readonly createdAt: number;
};

/** An event as an outbox keeps it, discriminated by `kind`: plain JSON. */
export type OutboxEvent = { [Kind in EventKind]: EventOf<Kind> }[EventKind];

/** The data of an event as it is shown. */
export function shownData({ idempotencyKey: _, ...data }: OutboxEvent["data"]): OutboxEvent["data"] {
  return data;
}

/** A visitor's names: a session, a click id. An event that has neither is a visitor of its own. */
export function namesOf({ id, data: { clickId, sessionId } }: OutboxEvent): string[] {
  const names = [...(sessionId ? [`s${sessionId}`] : []), ...(clickId ? [`c${clickId}`] : [])];
  return names.length > 0 ? names : [`e${id}`];
}

/** The time that a payment waits for, in milliseconds since the epoch. */
export function notBeforeOf({ kind, data }: Pick<OutboxEvent, "kind" | "data">): number | undefined {
  return kind === "payment" ? (data as EventData["payment"]).notBefore : undefined;
}
