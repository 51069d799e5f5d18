/**
 * The vocabulary of the package.
 *
 * - A **visitor** is known by a click id, a session id, or both: their **attribution**.
 * - A **conversion** is a registration or a payment.
 * - An **event** is a click or a conversion on its way to the service. Its id is a digest of its key (a payment's `paymentId`),
 *   so that the same conversion, reported twice, is the same event.
 * - An **outbox** keeps events until an **attempt** delivers them, or they become **dead letters**.
 */
import { hash, randomUUID } from "node:crypto";
import { z } from "zod";
import { harmless } from "./shared/harmless.js";
import { type Amount, amountFrom } from "./shared/money.js";

/** What links a conversion to a click (specification, section 1). Plain JSON; you can store it on the user's row. */
export type Attribution = {
  /** The id of the click that brought the visitor: 1 to 256 printable ASCII characters without spaces. */
  readonly clickId?: string;
  /** The visitor's session id, of the same form. */
  readonly sessionId?: string;
};

const VISITOR_ID = /^[\x21-\x7e]{1,256}$/;

/** A click id or session id as this package takes it: 1 to 256 printable ASCII characters without spaces. */
export function isVisitorId(value: unknown): value is string {
  return typeof value === "string" && VISITOR_ID.test(value);
}

// Databases return null for a missing value, and an empty string means nothing to the service.
const optionalText = z
  .string()
  .nullish()
  .transform((text) => text || undefined);

// The host's own ids: strings on the wire (section 2.3), numbers in many databases.
const hostId = z.union([z.string().min(1), z.int(), z.bigint()], { error: "must be a string or an integer" });

// Refuses only what no mail system can deliver to: a stricter pattern would lose conversions for good.
const emailAddress = z
  .string()
  .max(320)
  .regex(/^[^\s@]+@[^\s@]+$/, { error: "must be an e-mail address" });

const visitorId = z.unknown().transform((value) => (isVisitorId(value) ? value : undefined));

const clickSchema = z.object({
  affiliateReference: z.string().regex(VISITOR_ID, { error: "must be an affiliate's reference code" }),
  clickId: visitorId.optional(),
  sessionId: visitorId.optional(),
  clickedUrl: optionalText,
  referrerUrl: optionalText,
  userAgent: optionalText,
  source: optionalText,
});

const registrationSchema = z.object({
  email: emailAddress,
  customerId: hostId.nullish().transform((id) => (id === null || id === undefined ? undefined : String(id))),
  customerName: optionalText,
});

const paymentSchema = z.object({
  paymentId: hostId.transform(String),
  customerEmail: emailAddress,
  leadValue: z.unknown().transform((given, { issues }) => {
    const amount = amountFrom(given);
    if (typeof amount === "number") return amount;
    issues.push({ code: "custom", input: given, message: amount });
    return z.NEVER;
  }),
});

/** A visit through an affiliate's link (specification, section 2.2). Invalid input gives the receipt `rejected`. */
export interface Click {
  /** The affiliate's reference code. */
  readonly affiliateReference: string;
  /** The click's own id. Default: the attribution's, else a new UUID. */
  readonly clickId?: string | undefined;
  /** The visitor's session id. Default: the attribution's. */
  readonly sessionId?: string | undefined;
  /** The landing page's address. */
  readonly clickedUrl?: string | null | undefined;
  /** The page that led to it. */
  readonly referrerUrl?: string | null | undefined;
  /** The visitor's browser, as its User-Agent header says. */
  readonly userAgent?: string | null | undefined;
  /** Label of the traffic's source, such as `newsletter`. */
  readonly source?: string | null | undefined;
}

/** A sign-up that happened (specification, section 2.3). Invalid input gives the receipt `rejected`. */
export interface Registration {
  /** The customer's e-mail address, at most 320 characters. */
  readonly email: string;
  /** The host's own id of the user. A second report with the same id is a duplicate. Default: the e-mail address is the key. */
  readonly customerId?: string | number | bigint | null | undefined;
  /** The customer's name. The service does not need it. */
  readonly customerName?: string | null | undefined;
}

/** A payment that happened (specification, section 2.3). Invalid input gives the receipt `rejected`. */
export interface Payment {
  /** The host's own order or charge id. A second report with the same id is a duplicate. Not sent. */
  readonly paymentId: string | number | bigint;
  /** The customer's e-mail address, at most 320 characters. */
  readonly customerEmail: string;
  /**
   * A decimal amount in major units (19.9, not 1990): a number, a decimal text as databases give for NUMERIC, or an object
   * whose text is a plain decimal, such as Prisma's `Decimal`. Zero is skipped, and a negative amount is refused.
   */
  readonly leadValue: Amount;
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
  };
}

/** `click`, `registration` or `payment`. */
export type EventKind = keyof EventData;

/** What an event keeps for delivery, and does not send. */
export interface Provenance {
  /** Whether the digest of a login session is its only id. Then delivery first asks the service whether an affiliate referred the visitor. */
  readonly byLoginSession?: true;
}

type EventOf<Kind extends EventKind> = {
  /** 32 hex digits, the same for each report of the same event: dedupe key and `Idempotency-Key`. */
  readonly id: string;
  readonly kind: Kind;
  readonly data: EventData[Kind] & Provenance;
  /** When it happened, in milliseconds since the epoch. */
  readonly createdAt: number;
};

/** An event as an outbox keeps it, discriminated by `kind`: plain JSON. */
export type OutboxEvent = { [Kind in EventKind]: EventOf<Kind> }[EventKind];

const schemas: { readonly [Kind in EventKind]: z.ZodType<Omit<EventData[Kind], keyof Attribution>> } = {
  click: clickSchema,
  registration: registrationSchema,
  payment: paymentSchema,
};

/** Why an input is no event. The reason names the field; it shows no value but an amount. */
export interface InvalidInput {
  readonly invalid: string;
  /** Set where it is no mistake: a payment of zero, such as a trial or a free invoice. */
  readonly skip?: "zero";
}

/** Makes an event of what a host reports. `clientId` is part of the id: two programs may both have an order 1. */
export function eventFrom(
  kind: EventKind,
  input: unknown,
  attribution: Attribution,
  { clientId, now, byLoginSession }: { clientId: number; now: number; byLoginSession?: true | undefined },
): OutboxEvent | InvalidInput {
  const read = harmless(() => schemas[kind].safeParse(input));
  if (!read) return { invalid: "it threw when it was read" };
  if (!read.success) {
    return {
      invalid: read.error.issues.map((issue) => `\`${issue.path.join(".")}\`: ${issue.message}`).join("; "),
    };
  }
  if ((read.data as { leadValue?: number }).leadValue === 0) return { invalid: "it is zero", skip: "zero" };
  const data = definedOf(attribution, read.data, { byLoginSession }) as {
    -readonly [Name in keyof Attribution]: string;
  };
  if (kind === "click") data.clickId ??= randomUUID();
  if (data.clickId !== undefined) data.clickId = ownCopy(data.clickId);
  if (data.sessionId !== undefined) data.sessionId = ownCopy(data.sessionId);
  const identity = identityOf(kind, data as EventData[EventKind]);
  const id = ownCopy(hash("sha256", `${clientId} ${identity}`).slice(0, 32));
  return { id, kind, data, createdAt: now } as OutboxEvent;
}

// V8 keeps the whole Cookie header in memory for a substring of it, as long as the event waits. A copy does not.
function ownCopy(id: string): string {
  return Buffer.from(id, "latin1").toString("latin1");
}

function identityOf(kind: EventKind, data: EventData[EventKind]): string {
  if (kind === "click") return `click ${data.clickId}`;
  if (kind === "payment") return `payment ${(data as EventData["payment"]).paymentId}`;
  const { customerId, email } = data as EventData["registration"];
  return customerId === undefined
    ? `registration by ${email.toLowerCase()}`
    : `registration of ${customerId}`;
}

/** All defined properties of these objects; later ones win. No spreads: they take microseconds in Node 20. */
export function definedOf(...parts: readonly object[]): object {
  const defined: Record<string, unknown> = {};
  for (const part of parts as readonly Record<string, unknown>[]) {
    for (const name in part) if (part[name] !== undefined) defined[name] = part[name];
  }
  return defined;
}

/** The visitor of an event, as one string. For counting visitors, not for ordering their events. */
export function visitorOf({ id, data }: OutboxEvent): string {
  return data.sessionId ?? data.clickId ?? id;
}

/** The customer's address, where the event has one. */
export function emailOf(event: OutboxEvent): string | undefined {
  if (event.kind === "registration") return event.data.email;
  return event.kind === "payment" ? event.data.customerEmail : undefined;
}
