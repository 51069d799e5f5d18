import { hash, randomUUID } from "node:crypto";
import { type Attribution, definedOf, type EventData, type EventKind, type OutboxEvent } from "./events.js";
import { fieldsFrom } from "./fields.js";
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
  /** The service has no field for it: convert `leadValue` to the currency of your programme. */
  readonly currency?: never;
  /** It is called `leadValue`. */
  readonly amount?: never;
}

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

/** Makes an event of a host's report. `clientId` is part of the id: two programs may both have an order 1. */
export function eventFrom(
  kind: EventKind,
  input: unknown,
  attribution: Attribution,
  { clientId, now, byLoginSession, idempotencyKey }: EventContext,
): OutboxEvent | InvalidInput {
  const fields = fieldsFrom(kind, input);
  if ("invalid" in fields) return fields as InvalidInput;
  if ((fields as { leadValue?: number }).leadValue === 0) return { invalid: "it is zero", skip: "zero" };
  const data = definedOf(attribution, fields, { byLoginSession, idempotencyKey }) as Record<string, unknown>;
  if (kind === "click") data.clickId ??= randomUUID();
  for (const name in data) if (typeof data[name] === "string") data[name] = ownCopy(data[name]);
  const identity = identityOf(kind, data as unknown as EventData[EventKind]);
  const id = ownCopy(hash("sha256", `${clientId} ${identity}`).slice(0, 32));
  return { id, destination: clientId, kind, data, createdAt: now } as unknown as OutboxEvent;
}

function identityOf(kind: EventKind, data: EventData[EventKind]): string {
  if (kind === "click") return `click ${data.clickId}`;
  if (kind === "payment") return `payment ${(data as EventData["payment"]).paymentId}`;
  const { customerId, email } = data as EventData["registration"];
  return customerId === undefined ? `registration by ${inLowerCase(email)}` : `registration of ${customerId}`;
}

// ASCII letters alone: `toLowerCase` turns the Kelvin sign into a k, and so two customers into one.
function inLowerCase(email: string): string {
  return email.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase());
}
