import * as z from "zod/mini";
import type { DeadLetter, DeadLetters } from "../outbox/dead-letters.js";
import { filterSchema, idsOf, sumOf } from "./dead-letters.js";
import { Refused } from "./http.js";

const one = z.strictObject({
  id: z.string().check(z.minLength(1), z.maxLength(256)),
  /** The page has asked: it is to be sent although the service may have it. */
  unconfirmed: z.optional(z.literal(true)),
});
const many = z.strictObject({
  ...filterSchema,
  /** How many the page has asked about. */
  count: z.int().check(z.minimum(0)),
});
const schema = z.union([one, many]);
type Wanted = z.output<typeof schema>;

/** What the page may do to dead letters, for `by`. Resolves with how many it was done to. */
export type Action = (deadLetters: DeadLetters, wanted: Wanted, by?: string) => Promise<number>;

export function wantedFrom(body: unknown): Wanted {
  const { success, data } = schema.safeParse(body);
  if (!success) throw new Refused(400, "The body must be { id } or { kind?, reason?, count }.");
  return data;
}

/** Those that the service may have only if the page has asked about them. */
export const retry: Action = async (deadLetters, wanted, by) => {
  if (!("id" in wanted)) return toAll("retry", deadLetters, wanted, by);
  const letter = await letterOf(deadLetters, wanted.id);
  if (!wanted.unconfirmed && letter?.reason === "unconfirmed") {
    throw new Refused(409, "It is unconfirmed: the service may have it. Look it up there, then decide.");
  }
  if (!letter || !(await deadLetters.retry(wanted.id))) {
    throw new Refused(404, "It is no longer a dead letter, or the outbox is full.");
  }
  return decided("retry", deadLetters, letter, by);
};

export const discard: Action = async (deadLetters, wanted, by) => {
  if (!("id" in wanted)) return toAll("discard", deadLetters, wanted, by);
  const letter = await letterOf(deadLetters, wanted.id);
  if (!letter || !(await deadLetters.discard(wanted.id))) {
    throw new Refused(404, "It is no longer a dead letter.");
  }
  return decided("discard", deadLetters, letter, by);
};

async function letterOf(deadLetters: DeadLetters, id: string): Promise<DeadLetter | undefined> {
  return (await deadLetters.list({ id })).find((letter) => letter.id === id);
}

function decided(
  action: "retry" | "discard",
  deadLetters: DeadLetters,
  { id, kind, reason, event }: DeadLetter,
  by?: string,
): number {
  const amount = "leadValue" in event ? { amount: event.leadValue } : {};
  deadLetters.decided?.({ action, count: 1, id, kind, reason, ...amount, ...(by !== undefined && { by }) });
  return 1;
}

/** If any are discarded or unconfirmed: exactly those that the page has asked about. */
async function toAll(
  action: "retry" | "discard",
  deadLetters: DeadLetters,
  { count: asked, kind, reason }: z.output<typeof many>,
  by?: string,
): Promise<number> {
  const filter = { ...(kind && { kind }), ...(reason && { reason }) };
  const { payments, amount } = await sumOf(deadLetters, filter);
  const ids = action === "retry" && reason !== "unconfirmed" ? undefined : await idsOf(deadLetters, filter);
  if (ids && ids.length !== asked) {
    throw new Refused(409, `There are ${ids.length} of them now, not ${asked}. Look again, then decide.`);
  }
  let count = 0;
  if (action === "retry") count = await deadLetters.retryAll(filter);
  else for (const id of ids ?? []) if (await deadLetters.discard(id)) count++;
  // Without a reason, the unconfirmed ones are left alone: the sum is not theirs alone.
  const isSum = payments > 0 && (action === "discard" || reason !== undefined);
  const more = { ...(isSum && { amount }), ...(by !== undefined && { by }) };
  if (count > 0) deadLetters.decided?.({ action, count, ...filter, ...more });
  return count;
}
