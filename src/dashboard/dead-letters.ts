import * as z from "zod/mini";
import type { EventData } from "../conversion/events.js";
import { emailOf, LEAST_URGENT_FIRST } from "../conversion/kinds.js";
import {
  DEATH_REASONS,
  type DeadLetter,
  type DeadLetterFilter,
  type DeadLetterSum,
  type DeadLetters,
} from "../outbox/dead-letters.js";
import { maskEmail, maskEmails } from "../shared/emails.js";
import { printable } from "../shared/printable.js";
import { Secret } from "../shared/secret.js";
import { Refused } from "./http.js";

const kind = z.optional(z.enum(LEAST_URGENT_FIRST));
const reason = z.optional(z.enum(DEATH_REASONS));

const filterSchema = { kind, reason };

export const querySchema = z.object({
  ...filterSchema,
  limit: z._default(z.coerce.number().check(z.int(), z.minimum(1), z.maximum(1_000)), 50),
});

/** The oldest as the page shows them, and whether there are more. */
export async function listFor(deadLetters: DeadLetters, query: z.output<typeof querySchema>) {
  const found = await deadLetters.list({ ...query, limit: query.limit + 1 });
  const letters = found.slice(0, query.limit);
  return { letters: letters.map(shown), more: found.length > query.limit };
}

/** How many are meant, and what the payments among them come to. */
export async function sumOf(deadLetters: DeadLetters, filter: DeadLetterFilter) {
  const sums = await deadLetters.sums(filter);
  const add = (of: (part: DeadLetterSum) => number) => sums.reduce((sum, part) => sum + of(part), 0);
  return {
    count: add(({ count }) => count),
    unconfirmed: add(({ reason, count }) => (reason === "unconfirmed" ? count : 0)),
    payments: add(({ kind, count }) => (kind === "payment" ? count : 0)),
    // Amounts have six decimals at most; sums of binary fractions have more.
    amount: Math.round(add(({ amount }) => amount) * 1e6) / 1e6,
  };
}

/** No address in full, no name, and no session id, which may be a login's. */
function shown({ id, destination, kind, event, attempts, createdAt, diedAt, ...death }: DeadLetter) {
  const { paymentId, leadValue, customerId, affiliateReference, clickId } = fieldsOf(event);
  const address = emailOf({ kind, data: event });
  const hidden = address === undefined ? undefined : new Secret(address);
  const text = (words: string | undefined) => words && shownText(words, hidden);
  return {
    id,
    destination,
    kind,
    paymentId: text(paymentId),
    amount: leadValue,
    customerId: text(customerId),
    email: address && shownAddress(address),
    // As it is: the page writes out what cannot be seen.
    affiliate: affiliateReference && maskEmails(affiliateReference),
    clickId: kind === "click" ? text(clickId) : undefined,
    reason: death.reason,
    status: death.status,
    code: text(death.code),
    message: text(death.message),
    attempts,
    unreadable: death.unreadable,
    createdAt: new Date(createdAt).toISOString(),
    diedAt: new Date(diedAt).toISOString(),
  };
}

function fieldsOf(event: DeadLetter["event"]) {
  return event as Partial<EventData["click"] & EventData["registration"] & EventData["payment"]>;
}

const LONGEST = 500;

/** A short line without full addresses. The service may have spelt `address` in its own way. */
export function shownText(text: string, address?: Secret): string {
  const masked = maskEmails(printable(text));
  const hidden = address?.removeFrom(masked) ?? masked;
  return hidden.length > LONGEST ? `${hidden.slice(0, LONGEST)}…` : hidden;
}

function shownAddress(address: string): string {
  return printable(maskEmail(address));
}

const one = z.strictObject({
  id: z.string().check(z.minLength(1), z.maxLength(256)),
  /** The reader wants it sent although the service may have it. */
  unconfirmed: z.optional(z.literal(true)),
});
const many = z.strictObject({
  ...filterSchema,
  /** How many the reader was asked about. */
  count: z.int().check(z.minimum(0)),
});
const schema = z.union([one, many]);
type Wanted = z.output<typeof schema>;

export function wantedFrom(body: unknown): Wanted {
  const { success, data } = schema.safeParse(body);
  if (!success) throw new Refused(400, "The body must be { id } or { kind?, reason?, count }.");
  return data;
}

type Action = "retry" | "discard";

/**
 * Retries or discards dead letters, for `by`. Retries an unconfirmed one only if the page has asked
 * the reader about it. Resolves with their number.
 */
export async function act(
  action: Action,
  deadLetters: DeadLetters,
  wanted: Wanted,
  by?: string,
): Promise<number> {
  if (!("id" in wanted)) return toAll(action, deadLetters, wanted, by);
  const { id } = wanted;
  const [letter] = await deadLetters.list({ id });
  if (action === "retry" && !wanted.unconfirmed && letter?.reason === "unconfirmed") {
    throw new Refused(409, "It is unconfirmed: the service may have it. Look it up there, then decide.");
  }
  if (!letter || !(await deadLetters[action](id))) {
    const orFull = action === "retry" ? ", or the outbox is full" : "";
    throw new Refused(404, `It is no longer a dead letter${orFull}.`);
  }
  const { kind, reason, event } = letter;
  const amount = "leadValue" in event ? { amount: event.leadValue } : {};
  deadLetters.decided?.({ action, count: 1, id, kind, reason, ...amount, ...(by !== undefined && { by }) });
  return 1;
}

/** Refuses to discard, or to retry unconfirmed ones, if their number is not what the reader saw. */
async function toAll(
  action: Action,
  deadLetters: DeadLetters,
  { count: asked, kind, reason }: z.output<typeof many>,
  by?: string,
): Promise<number> {
  const filter = { ...(kind && { kind }), ...(reason && { reason }) };
  const { payments, amount } = await sumOf(deadLetters, filter);
  const ids = action === "retry" && reason !== "unconfirmed" ? undefined : await deadLetters.ids(filter);
  if (ids && ids.length !== asked) {
    throw new Refused(409, `There are ${ids.length} of them now, not ${asked}. Look again, then decide.`);
  }
  let count = 0;
  try {
    // One by one: more may have become dead letters meanwhile.
    if (ids) for (const id of ids) count += Number(await deadLetters[action](id));
    else count = await deadLetters.retryAll(filter);
  } finally {
    // A retry without a reason leaves out the unconfirmed ones, which the sum includes.
    const isWhole = count === (ids?.length ?? asked);
    const isSum = payments > 0 && isWhole && (action === "discard" || reason !== undefined);
    const more = { ...(isSum && { amount }), ...(by !== undefined && { by }) };
    if (count > 0) deadLetters.decided?.({ action, count, ...filter, ...more });
  }
  return count;
}
