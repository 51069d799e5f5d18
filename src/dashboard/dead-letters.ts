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

const schema = z.object({
  kind: z.optional(z.enum(LEAST_URGENT_FIRST)),
  reason: z.optional(z.enum(DEATH_REASONS)),
  /** One alone. */
  id: z.optional(z.string().check(z.minLength(1), z.maxLength(256))),
  /** The reader wants it sent although the service may have it. */
  unconfirmed: z.optional(z.literal("true")),
  /** Of several: how many the reader was asked about. */
  count: z.optional(z.coerce.number().check(z.int(), z.minimum(0))),
});
type Wanted = z.output<typeof schema>;

/** Which dead letters the query of an address means. */
export function wantedIn(url: string): Wanted {
  const { success, data } = schema.safeParse(Object.fromEntries(new URLSearchParams(url.split("?")[1])));
  if (!success)
    throw new Refused(400, "The query may have `kind`, `reason`, `id`, `unconfirmed` and `count`.");
  return data;
}

const filterIn = ({ kind, reason }: Wanted) => ({ ...(kind && { kind }), ...(reason && { reason }) });

const MOST = 100;

/** The oldest as the page shows them, how many are meant, and what the payments among them come to. */
export async function listFor(deadLetters: DeadLetters, wanted: Wanted) {
  const filter = filterIn(wanted);
  const [sum, letters] = await Promise.all([
    sumOf(deadLetters, filter),
    deadLetters.list({ ...filter, limit: MOST }),
  ]);
  return { ...sum, letters: letters.map(shown) };
}

async function sumOf(deadLetters: DeadLetters, filter: DeadLetterFilter) {
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
function shown({ id, kind, event, attempts, createdAt, diedAt, ...death }: DeadLetter) {
  const { paymentId, leadValue, customerId, affiliateReference, clickId } = event as Partial<
    EventData["click"] & EventData["registration"] & EventData["payment"]
  >;
  const address = emailOf({ kind, data: event });
  const hidden = address === undefined ? undefined : new Secret(address);
  const text = (words: string | undefined) => words && shownText(words, hidden);
  return {
    id,
    kind,
    paymentId: text(paymentId),
    amount: leadValue,
    customerId: text(customerId),
    email: address && printable(maskEmail(address)),
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

const LONGEST = 500;

/** A short line without full addresses. The service may have spelt `address` in its own way. */
export function shownText(text: string, address?: Secret): string {
  const masked = maskEmails(printable(text));
  const hidden = address?.removeFrom(masked) ?? masked;
  return hidden.length > LONGEST ? `${hidden.slice(0, LONGEST)}…` : hidden;
}

/**
 * Retries or discards dead letters, for `by`. Retries an unconfirmed one only if the page has asked
 * the reader about it. Resolves with their number.
 */
export async function act(
  action: "retry" | "discard",
  deadLetters: DeadLetters,
  wanted: Wanted,
  by?: string,
): Promise<number> {
  const who = by !== undefined && { by };
  const { id, count: asked } = wanted;
  if (id !== undefined) {
    const [letter] = await deadLetters.list({ id });
    if (action === "retry" && !wanted.unconfirmed && letter?.reason === "unconfirmed") {
      throw new Refused(409, "It is unconfirmed: the service may have it. Look it up there, then decide.");
    }
    if (!letter || !(await deadLetters[action](id))) {
      const orFull = action === "retry" ? ", or the outbox is full" : "";
      throw new Refused(404, `It is no longer a dead letter${orFull}.`);
    }
    const { kind, reason, event } = letter;
    const amount = "leadValue" in event && { amount: event.leadValue };
    deadLetters.decided?.({ action, count: 1, id, kind, reason, ...amount, ...who });
    return 1;
  }

  // Only the number that the reader saw is discarded, or sent although the service may have it.
  const filter = filterIn(wanted);
  const { payments, amount } = await sumOf(deadLetters, filter);
  const isHarmless = action === "retry" && filter.reason !== "unconfirmed";
  const ids = isHarmless ? undefined : await deadLetters.ids(filter);
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
    const isWhole = count === (ids?.length ?? asked) && (action === "discard" || filter.reason !== undefined);
    const sum = payments > 0 && isWhole && { amount };
    if (count > 0) deadLetters.decided?.({ action, count, ...filter, ...sum, ...who });
  }
  return count;
}
