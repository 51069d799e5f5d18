import { hash, randomUUID } from "node:crypto";
import { ArgumentError } from "../shared/errors.js";
import type { Amount } from "../shared/money.js";
import { ownCopy } from "../shared/text.js";
import {
  type Attribution,
  definedOf,
  type EventData,
  type EventKind,
  type EventOf,
  type OutboxEvent,
} from "./events.js";
import { fieldsFrom, paymentIdFrom } from "./fields.js";

/** A visit through an affiliate's link (§2.2). Invalid input gives the receipt `rejected`. */
export interface Click {
  /** The affiliate's reference code. */
  readonly affiliateReference: string;
  /** The click's own id. Default: the attribution's, otherwise a new UUID. */
  readonly clickId?: string | undefined;
  /** The visitor's session id. Default: the attribution's. */
  readonly sessionId?: string | undefined;
  /** The landing page's address: its first 2,048 characters are kept. */
  readonly clickedUrl?: string | null | undefined;
  /** The page that led to it: its first 2,048 characters are kept. */
  readonly referrerUrl?: string | null | undefined;
  /** The visitor's browser, as its User-Agent header says: the first 512 characters are kept. */
  readonly userAgent?: string | null | undefined;
  /** Label of the traffic's source, such as `newsletter`: the first 256 characters are kept. */
  readonly source?: string | null | undefined;
}

/** A sign-up that happened (§2.3). Invalid input gives the receipt `rejected`. */
export interface Registration {
  /** The customer's e-mail address, at most 320 characters. */
  readonly email: string;
  /**
   * The host's own id of the user, at most 256 characters. A second report with it is a duplicate.
   * Default: the e-mail address is the key.
   */
  readonly customerId?: string | number | bigint | null | undefined;
  /** The customer's name: its first 256 characters are kept. The service does not need it. */
  readonly customerName?: string | null | undefined;
}

/** A payment that happened (§2.3). Invalid input gives the receipt `rejected`. */
export interface Payment {
  /**
   * The host's own order or charge id, at most 256 characters. A second report with it is a
   * duplicate. Not sent.
   */
  readonly paymentId: string | number | bigint;
  /** The customer's e-mail address, at most 320 characters. */
  readonly customerEmail: string;
  /**
   * A decimal amount in major units (19.9, not 1990): a number, a decimal text as databases give
   * for NUMERIC, or an object whose text is a plain decimal, such as Prisma's `Decimal`. Zero is
   * skipped; a negative amount and a bigint are refused.
   */
  readonly leadValue: Amount;
  /**
   * Not sent before this time, at most 400 days ahead: `tracker.cancelPayment(paymentId)` withdraws
   * it until then. Default, and if the time has come: sent at once.
   */
  readonly notBefore?: Date | null | undefined;
  /** The service has no field for it: convert `leadValue` to the currency of your programme. */
  readonly currency?: never;
  /** It is called `leadValue`. */
  readonly amount?: never;
}

// Chosen: longer than any shop takes goods back. A mistake in the unit of a date is farther off.
const FARTHEST_MS = 400 * 24 * 60 * 60 * 1_000;

/** Why an input is no event. The reason names the field; it shows no value but an amount. */
export interface InvalidInput {
  readonly invalid: string;
  /** Set if it is no mistake: a payment of zero, such as a trial or a free invoice. */
  readonly skip?: "zero";
}

export interface EventContext {
  readonly clientId: number;
  readonly now: number;
  readonly byLoginSession?: true | undefined;
  /** See `Provenance`. */
  readonly idempotencyKey?: string | undefined;
}

/** What makes it the same event for one client id; or why it is none. */
const KEYS: {
  readonly [Kind in EventKind]: (data: EventData[Kind], now: number) => string | InvalidInput;
} = {
  click: ({ clickId }) => `click ${clickId}`,
  registration: ({ customerId, email }) =>
    customerId === undefined ? `registration by ${inLowerCase(email)}` : `registration of ${customerId}`,
  payment({ paymentId, leadValue, notBefore = 0 }, now) {
    if (leadValue === 0) return { invalid: "it is zero", skip: "zero" };
    const isTooFar = notBefore > now + FARTHEST_MS;
    return isTooFar ? { invalid: "`notBefore`: must be at most 400 days from now" } : `payment ${paymentId}`;
  },
};

/** Makes an event of what a host reports. The report's own ids come before the attribution's. */
export function eventFrom<Kind extends EventKind>(
  kind: Kind,
  input: unknown,
  attribution: Attribution,
  { clientId, now, byLoginSession, idempotencyKey }: EventContext,
): OutboxEvent | InvalidInput {
  const read = fieldsFrom(kind, input);
  if ("invalid" in read) return read;
  const data = definedOf(attribution, read.fields, {
    byLoginSession,
    idempotencyKey,
  }) as EventOf<Kind>["data"];
  if (kind === "click" && data.clickId === undefined) Reflect.set(data, "clickId", randomUUID());
  const key = KEYS[kind](data, now);
  if (typeof key !== "string") return key;
  for (const [name, value] of Object.entries(data)) {
    if (typeof value === "string") Reflect.set(data, name, ownCopy(value));
  }
  return { id: idOf(clientId, key), destination: clientId, kind, data, createdAt: now } as OutboxEvent;
}

/** @throws ArgumentError if there can be no such payment. */
export function paymentEventId(clientId: number, paymentId: unknown): string {
  const id = paymentIdFrom(paymentId);
  if (typeof id !== "string") throw new ArgumentError(`cancelPayment: \`paymentId\` ${id.invalid}`);
  return idOf(clientId, `payment ${id}`);
}

// With the client id: two programs may both have an order 1.
function idOf(clientId: number, key: string): string {
  return ownCopy(hash("sha256", `${clientId} ${key}`).slice(0, 32));
}

// ASCII letters alone: `toLowerCase` turns the Kelvin sign into a k, and so two customers into one.
function inLowerCase(email: string): string {
  return email.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase());
}
