import { hash, randomUUID } from "node:crypto";
import { z } from "zod";
import {
  type Attribution,
  definedOf,
  type EventData,
  type EventKind,
  isVisitorId,
  type OutboxEvent,
  VISITOR_ID,
} from "./events.js";
import { harmless } from "./shared/harmless.js";
import { type Amount, amountFrom } from "./shared/money.js";

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

const aReference = { error: "must be an affiliate's reference code" };

const clickSchema = z.object({
  affiliateReference: z.string(aReference).regex(VISITOR_ID, aReference),
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

/** What makes an event of an input. */
export interface EventContext {
  readonly clientId: number;
  readonly destination: string;
  readonly now: number;
  readonly byLoginSession?: true | undefined;
}

/** Makes an event of what a host reports. `clientId` is part of the id: two programs may both have an order 1. */
export function eventFrom(
  kind: EventKind,
  input: unknown,
  attribution: Attribution,
  { clientId, destination, now, byLoginSession }: EventContext,
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
  return { id, destination, kind, data, createdAt: now } as OutboxEvent;
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
