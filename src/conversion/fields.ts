import { types } from "node:util";
import * as z from "zod/mini";
import { harmless } from "../shared/harmless.js";
import { amountFrom } from "../shared/money.js";
import { cut } from "../shared/text.js";
import { type Attribution, type EventData, type EventKind, isTextOfNothing, isVisitorId } from "./events.js";
import { rowOf } from "./kinds.js";

// Databases return null for a missing value, and an empty string means nothing to the service.
const optionalText = (longest: number) =>
  z.pipe(
    z.nullish(z.string({ error: "must be a text" })),
    z.transform((text) => (text ? cut(text, longest) : undefined)),
  );

// The host's own ids: strings on the wire (section 2.3), numbers in many databases.
const hostId = (longest: number) =>
  z.pipe(
    z.custom<string | number | bigint>((id) => isHostId(id, longest), {
      error: ({ input }) =>
        isTextOfNothing(input)
          ? `must be an id, got the text "${input}"`
          : `must be a string of 1 to ${longest} characters or an integer`,
    }),
    z.transform(String),
  );

const paymentId = hostId(rowOf("payment").longest.paymentId);

// Refuses only what no mail system can deliver to: a stricter pattern would lose conversions.
const emailAddress = (longest: number) =>
  z.string({ error: "must be an e-mail address" }).check(
    z.maxLength(longest, { error: `must be at most ${longest} characters` }),
    z.regex(/^[^\s@]+@[^\s@]+$/, { error: "must be an e-mail address" }),
    // Two that differ in an unpaired surrogate would have one key: in UTF-8 it is U+FFFD.
    z.refine((text) => text.isWellFormed(), { error: "must not contain half a character" }),
  );

const visitorId = z.optional(z.transform((value) => (isVisitorId(value) ? value : undefined)));

/** What a schema makes of a report. */
type Fields<Kind extends EventKind> = Omit<EventData[Kind], keyof Attribution> & {
  readonly [Id in keyof Attribution]?: string | undefined;
};

const schemas: {
  readonly [Kind in EventKind]: z.ZodMiniType<Fields<Kind>> & { readonly shape: object };
} = {
  click: z.object({
    affiliateReference: z.custom<string>(isVisitorId, { error: "must be an affiliate's reference code" }),
    clickId: visitorId,
    sessionId: visitorId,
    clickedUrl: optionalText(rowOf("click").longest.clickedUrl),
    referrerUrl: optionalText(rowOf("click").longest.referrerUrl),
    userAgent: optionalText(rowOf("click").longest.userAgent),
    source: optionalText(rowOf("click").longest.source),
  }),
  registration: z.object({
    email: emailAddress(rowOf("registration").longest.email),
    customerId: z.optional(
      z.pipe(
        z.transform((id) => (id === null || isTextOfNothing(id) ? undefined : id)),
        z.optional(hostId(rowOf("registration").longest.customerId)),
      ),
    ),
    customerName: optionalText(rowOf("registration").longest.customerName),
  }),
  payment: z.object({
    paymentId,
    customerEmail: emailAddress(rowOf("payment").longest.customerEmail),
    leadValue: z.transform((given, { issues }) => {
      const amount = amountFrom(given);
      if (typeof amount === "number") return amount;
      issues.push({ code: "custom", input: given, message: amount });
      return z.NEVER;
    }),
    notBefore: z.pipe(
      z.nullish(z.custom<Date>(isValidDate, { error: "must be a valid Date" })),
      z.transform((date) => (date ? timeOf(date) : undefined)),
    ),
  }),
};

/** Reads what a host reports, or says why it is no event. That shows no value but an amount. */
export function fieldsFrom<Kind extends EventKind>(
  kind: Kind,
  input: unknown,
): { readonly fields: Fields<Kind> } | { readonly invalid: string } {
  const read = harmless(() => schemas[kind].safeParse(input));
  if (!read) return { invalid: "it threw when it was read" };
  if (read.success) return { fields: read.data };
  const problems = read.error.issues.map(({ path: [name], message }) =>
    name === undefined ? "it must be an object" : `\`${String(name)}\`: ${message}`,
  );
  return { invalid: problems.join("; ") };
}

/** A payment's id as text, or the reason why it is none. */
export function paymentIdFrom(id: unknown): string | { readonly invalid: string } {
  const read = paymentId.safeParse(id);
  return read.success ? read.data : { invalid: read.error.issues[0]?.message ?? "is no id" };
}

export function fieldNames(kind: EventKind): string[] {
  return Object.keys(schemas[kind].shape);
}

/** The names of a report's fields that its kind does not have: they are not sent. */
export function unknownFields(kind: EventKind, input: unknown): string[] {
  return entriesOf(input).flatMap(([name]) => (Object.hasOwn(schemas[kind].shape, name) ? [] : [name]));
}

/** The ids in a report that are the text of a missing value. */
export function idsOfNothing(input: unknown): { name: string; text: string }[] {
  return entriesOf(input).flatMap(([name, text]) =>
    name.endsWith("Id") && isTextOfNothing(text) ? [{ name, text }] : [],
  );
}

function entriesOf(input: unknown): [string, unknown][] {
  if (typeof input !== "object" || input === null || Array.isArray(input)) return [];
  return harmless(() => Object.entries(input)) ?? [];
}

function isHostId(id: unknown, longest: number): id is string | number | bigint {
  if (isTextOfNothing(id)) return false;
  const isId =
    typeof id === "string" ? id.isWellFormed() : typeof id === "bigint" || Number.isSafeInteger(id);
  return isId && id !== "" && String(id).length <= longest;
}

// Not `instanceof`: a test runner may have a `Date` of its own.
function isValidDate(date: unknown): date is Date {
  return types.isDate(date) && !Number.isNaN(timeOf(date));
}

function timeOf(date: Date): number {
  return Date.prototype.getTime.call(date);
}
