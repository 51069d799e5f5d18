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
import { maskEmails } from "../shared/emails.js";
import { Secret } from "../shared/secret.js";
import { shownAddress, shownText } from "./masked.js";

/** The outbox bounds how many it keeps. */
const NO_LIMIT = 2 ** 31 - 1;

const kind = z.optional(z.enum(LEAST_URGENT_FIRST));
const reason = z.optional(z.enum(DEATH_REASONS));

export const filterSchema = { kind, reason };

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
  const sums = await (deadLetters.sums ?? ((which = {}) => sumsIn(deadLetters, which)))(filter);
  const add = (of: (each: DeadLetterSum) => number) => sums.reduce((sum, each) => sum + of(each), 0);
  return {
    count: add(({ count }) => count),
    unconfirmed: add(({ reason, count }) => (reason === "unconfirmed" ? count : 0)),
    payments: add(({ kind, count }) => (kind === "payment" ? count : 0)),
    // Amounts have six decimals at most; sums of binary fractions have more.
    amount: Math.round(add(({ amount }) => amount) * 1e6) / 1e6,
  };
}

export async function idsOf(deadLetters: DeadLetters, filter: DeadLetterFilter): Promise<readonly string[]> {
  if (deadLetters.ids) return deadLetters.ids(filter);
  return (await deadLetters.list({ ...filter, limit: NO_LIMIT })).map(({ id }) => id);
}

/** For an outbox without sums: one of memory, or of the host's own. */
async function sumsIn(deadLetters: DeadLetters, filter: DeadLetterFilter): Promise<DeadLetterSum[]> {
  const letters = await deadLetters.list({ ...filter, limit: NO_LIMIT });
  return letters.map(({ kind, reason, event }) => {
    const { leadValue = 0 } = fieldsOf(event);
    return { kind, reason, count: 1, amount: leadValue };
  });
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
