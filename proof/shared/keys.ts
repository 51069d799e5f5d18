import { idempotencyKeys } from "../../src/service/idempotency.js";

/** The API key of the hosts of proofs. */
export const API_KEY = "proof-key";

const derived = idempotencyKeys(API_KEY);

/** The `Idempotency-Key` by which a proof's service knows the event of that id. */
export function keyOf(id: string): string {
  return derived({ id, data: {} } as Parameters<typeof derived>[0]);
}
