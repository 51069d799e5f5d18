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

/** Links a conversion to a click (specification, section 1). Plain JSON, for the user's row. */
export type Attribution = {
  /** The id of the click that brought the visitor: 1 to 256 visible ASCII characters. */
  readonly clickId?: string;
  /** The visitor's session id, of the same form. */
  readonly sessionId?: string;
};

const VISITOR_ID = /^[\x21-\x7e]{1,256}$/;

export function isVisitorId(value: unknown): value is string {
  return typeof value === "string" && VISITOR_ID.test(value) && !isNoVisitorId(value);
}

// The status endpoint has the id in its path (§4.5), from which URL parsers remove `.` and `..`.
const DOTS: readonly unknown[] = [".", ".."];

/** A text of an id's form that is no visitor's id: the text of a missing value, `.` or `..`. */
export function isNoVisitorId(value: unknown): value is string {
  return isTextOfNothing(value) || DOTS.includes(value);
}

const TEXTS_OF_NOTHING: readonly unknown[] = ["undefined", "null", "NaN", "[object Object]"];

/** What `String(…)` makes of a missing value. As an id, it would be the same for all. */
export function isTextOfNothing(value: unknown): value is string {
  return TEXTS_OF_NOTHING.includes(value);
}

/** The data of each kind of event: the specification's field names, with ids as strings. */
export interface EventData {
  readonly click: Attribution & {
    readonly affiliateReference: string;
    readonly clickedUrl?: string | undefined;
    readonly referrerUrl?: string | undefined;
    readonly userAgent?: string | undefined;
    readonly source?: string | undefined;
  };
  readonly registration: Attribution & {
    readonly email: string;
    readonly customerId?: string | undefined;
    readonly customerName?: string | undefined;
  };
  readonly payment: Attribution & {
    readonly paymentId: string;
    readonly customerEmail: string;
    readonly leadValue: number;
    /** Not sent before this time, in milliseconds since the epoch. */
    readonly notBefore?: number | undefined;
  };
}

/** `click`, `registration` or `payment`. */
export type EventKind = keyof EventData;

/** A kind that a wrapped handler reports: each but `click`. */
export type ConversionKind = Exclude<EventKind, "click">;

/** Data of an event that delivery needs and does not send. */
export interface Provenance {
  /** A login session's digest is its only id: delivery asks first if its visitor was referred. */
  readonly byLoginSession?: true;
  /** If reported without an API key: its `Idempotency-Key`, 32 random hex digits. Never shown. */
  readonly idempotencyKey?: string;
}

/** An event of one kind. */
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

/** All defined properties; later ones win. No spreads: they take microseconds in Node 20. */
export function definedOf<One extends object, Other extends object = object, Third extends object = object>(
  ...parts: readonly [One, Other?, Third?]
): Defined<One> & Defined<Other> & Defined<Third> {
  const defined: Record<string, unknown> = {};
  for (const part of parts as readonly Record<string, unknown>[]) {
    for (const name in part) if (part[name] !== undefined) defined[name] = part[name];
  }
  return defined as Defined<One> & Defined<Other> & Defined<Third>;
}

type Defined<All extends object> = {
  [Name in keyof All as undefined extends All[Name] ? never : Name]: All[Name];
} & { [Name in keyof All as undefined extends All[Name] ? Name : never]?: Exclude<All[Name], undefined> };

/** An event's visitor, as one string: for counting visitors, not for ordering their events. */
export function visitorOf({ id, data }: OutboxEvent): string {
  return data.sessionId ?? data.clickId ?? id;
}

/** The time that a payment waits for, in milliseconds since the epoch. */
export function notBeforeOf({ kind, data }: Pick<OutboxEvent, "kind" | "data">): number | undefined {
  return kind === "payment" ? (data as EventData["payment"]).notBefore : undefined;
}
