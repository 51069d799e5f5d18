import { hash, randomUUID } from "node:crypto";
import { type Attribution, definedOf, type EventKind, type EventOf, type OutboxEvent } from "./events.js";
import { fieldsFrom, paymentIdFrom } from "./fields.js";
import { ArgumentError } from "./shared/errors.js";
import type { Amount } from "./shared/money.js";
import { ownCopy } from "./shared/text.js";

/** A visit through an affiliate's link (specification, section 2.2). Invalid input gives the receipt `rejected`. */
export interface Click {
  /** The affiliate's reference code. */
  readonly affiliateReference: string;
  /** The click's own id. Default: the attribution's, else a new UUID. */
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

/** A sign-up that happened (specification, section 2.3). Invalid input gives the receipt `rejected`. */
export interface Registration {
  /** The customer's e-mail address, at most 320 characters. */
  readonly email: string;
  /**
   * The host's own id of the user, at most 256 characters. A second report with the same id is a duplicate. Default: the e-mail
   * address is the key.
   */
  readonly customerId?: string | number | bigint | null | undefined;
  /** The customer's name: its first 256 characters are kept. The service does not need it. */
  readonly customerName?: string | null | undefined;
}

/** A payment that happened (specification, section 2.3). Invalid input gives the receipt `rejected`. */
export interface Payment {
  /** The host's own order or charge id, at most 256 characters. A second report with the same id is a duplicate. Not sent. */
  readonly paymentId: string | number | bigint;
  /** The customer's e-mail address, at most 320 characters. */
  readonly customerEmail: string;
  /**
   * A decimal amount in major units (19.9, not 1990): a number, a decimal text as databases give for NUMERIC, or an object
   * whose text is a plain decimal, such as Prisma's `Decimal`. Zero is skipped; a negative amount and a bigint are refused.
   */
  readonly leadValue: Amount;
  /**
   * Not sent before this time, at most 400 days ahead: `tracker.cancelPayment(paymentId)` withdraws it until then. Default: sent at
   * once, and so is a payment whose time has come.
   */
  readonly notBefore?: Date | null | undefined;
  /** The service has no field for it: convert `leadValue` to the currency of your programme. */
  readonly currency?: never;
  /** It is called `leadValue`. */
  readonly amount?: never;
}

// Longer than any shop takes goods back. A mistake in the unit of a date is farther off.
const FARTHEST_MS = 400 * 24 * 60 * 60 * 1_000;

/** Why an input is no event. The reason names the field; it shows no value but an amount. */
export interface InvalidInput {
  readonly invalid: string;
  /** Set where it is no mistake: a payment of zero, such as a trial or a free invoice. */
  readonly skip?: "zero";
}

/** What an event needs beside the input. */
export interface EventContext {
  readonly clientId: number;
  readonly now: number;
  readonly byLoginSession?: true | undefined;
  /** See `Provenance`. */
  readonly idempotencyKey?: string | undefined;
}

type Maker = (input: unknown, attribution: Attribution, context: EventContext) => OutboxEvent | InvalidInput;

const MAKERS: Readonly<Record<EventKind, Maker>> = {
  click(input, attribution, context) {
    const read = fieldsFrom("click", input);
    if ("invalid" in read) return read;
    const clickId = read.fields.clickId ?? attribution.clickId ?? randomUUID();
    const visitor = { clickId, sessionId: attribution.sessionId };
    return eventOf(
      "click",
      definedOf(visitor, read.fields, provenanceOf(context)),
      `click ${clickId}`,
      context,
    );
  },
  registration(input, attribution, context) {
    const read = fieldsFrom("registration", input);
    if ("invalid" in read) return read;
    const { customerId, email } = read.fields;
    const key =
      customerId === undefined ? `registration by ${inLowerCase(email)}` : `registration of ${customerId}`;
    return eventOf("registration", definedOf(attribution, read.fields, provenanceOf(context)), key, context);
  },
  payment(input, attribution, context) {
    const read = fieldsFrom("payment", input);
    if ("invalid" in read) return read;
    if (read.fields.leadValue === 0) return { invalid: "it is zero", skip: "zero" };
    const { paymentId, notBefore = context.now } = read.fields;
    if (notBefore > context.now + FARTHEST_MS)
      return { invalid: "`notBefore`: must be at most 400 days from now" };
    const key = `payment ${paymentId}`;
    return eventOf("payment", definedOf(attribution, read.fields, provenanceOf(context)), key, context);
  },
};

/** Makes an event of a host's report. */
export function eventFrom(
  kind: EventKind,
  input: unknown,
  attribution: Attribution,
  context: EventContext,
): OutboxEvent | InvalidInput {
  return MAKERS[kind](input, attribution, context);
}

function provenanceOf({ byLoginSession, idempotencyKey }: EventContext) {
  return { byLoginSession, idempotencyKey };
}

/** @param key what makes it the same event. With the client id: two programs may both have an order 1. */
function eventOf<Kind extends EventKind>(
  kind: Kind,
  data: EventOf<Kind>["data"],
  key: string,
  { clientId, now }: EventContext,
): EventOf<Kind> {
  for (const [name, value] of Object.entries(data)) {
    if (typeof value === "string") Reflect.set(data, name, ownCopy(value));
  }
  return { id: idOf(clientId, key), destination: clientId, kind, data, createdAt: now };
}

/**
 * The id of the event that a payment became when it was reported.
 *
 * @throws ArgumentError if there can be no such payment.
 */
export function paymentEventId(clientId: number, paymentId: unknown): string {
  const id = paymentIdFrom(paymentId);
  if (typeof id !== "string") throw new ArgumentError(`cancelPayment: \`paymentId\` ${id.invalid}`);
  return idOf(clientId, `payment ${id}`);
}

function idOf(clientId: number, key: string): string {
  return ownCopy(hash("sha256", `${clientId} ${key}`).slice(0, 32));
}

// ASCII letters alone: `toLowerCase` turns the Kelvin sign into a k, and so two customers into one.
function inLowerCase(email: string): string {
  return email.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase());
}
