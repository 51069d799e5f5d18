import * as z from "zod/mini";
import type { DeadLetters } from "../outbox/dead-letters.js";
import { filterSchema, idsOf } from "./dead-letters.js";
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

/** What the page may do to dead letters. Resolves with how many it was done to. */
export type Action = (deadLetters: DeadLetters, wanted: Wanted) => Promise<number>;

export function wantedFrom(body: unknown): Wanted {
  const { success, data } = schema.safeParse(body);
  if (!success) throw new Refused(400, "The body must be { id } or { kind?, reason?, count }.");
  return data;
}

/** Those that the service may have only if the page has asked about them. */
export const retry: Action = async (deadLetters, wanted) => {
  if ("id" in wanted) {
    const { id, unconfirmed } = wanted;
    if (!unconfirmed && (await isUnconfirmed(deadLetters, id))) {
      throw new Refused(409, "It is unconfirmed: the service may have it. Look it up there, then decide.");
    }
    if (await deadLetters.retry(id)) return 1;
    throw new Refused(404, "It is no longer a dead letter, or the outbox is full.");
  }
  const { count, ...filter } = wanted;
  if (filter.reason === "unconfirmed") requireCount(await idsOf(deadLetters, filter), count);
  return deadLetters.retryAll(filter);
};

/** Exactly the dead letters that the page has asked about. */
export const discard: Action = async (deadLetters, wanted) => {
  if ("id" in wanted) {
    if (await deadLetters.discard(wanted.id)) return 1;
    throw new Refused(404, "It is no longer a dead letter.");
  }
  const { count, ...filter } = wanted;
  const ids = await idsOf(deadLetters, filter);
  requireCount(ids, count);
  let discarded = 0;
  for (const id of ids) if (await deadLetters.discard(id)) discarded++;
  return discarded;
};

async function isUnconfirmed(deadLetters: DeadLetters, id: string): Promise<boolean> {
  return (await idsOf(deadLetters, { reason: "unconfirmed" })).includes(id);
}

function requireCount(ids: readonly string[], count: number): void {
  if (ids.length === count) return;
  throw new Refused(409, `There are ${ids.length} of them now, not ${count}. Look again, then decide.`);
}
