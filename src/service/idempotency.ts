import { createHmac, createSecretKey, hkdfSync, randomBytes, randomUUID } from "node:crypto";
import type { OutboxEvent } from "../conversion/events.js";

/** A random key of 32 hex digits, kept with an event that is reported without an API key. */
export function randomIdempotencyKey(): string {
  // `randomBytes` would take half of a report's time; Node makes many UUIDs at a time.
  return randomUUID().replaceAll("-", "");
}

/**
 * Gives an event's `Idempotency-Key`, 32 hex digits: the same for each attempt, and one that no
 * stranger can compute. (The id is a digest of what a stranger may guess: as key, it would let a
 * stranger use up the keys of payments to come.) Derived from the API key and the event's id; an event that was
 * reported without an API key has its own.
 */
export function idempotencyKeys(apiKey: string | undefined): (event: OutboxEvent) => string {
  // Without an API key here, an event reported with one gets a key that lasts for this process.
  const input = apiKey ?? randomBytes(32);
  const subkey = createSecretKey(
    Buffer.from(hkdfSync("sha256", input, "", "express-affiliate Idempotency-Key", 32)),
  );
  return ({ id, data }) =>
    data.idempotencyKey ?? createHmac("sha256", subkey).update(id).digest("hex").slice(0, 32);
}
