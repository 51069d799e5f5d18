import { createHmac, createSecretKey, hkdfSync, randomBytes } from "node:crypto";
import type { OutboxEvent } from "../events.js";

/** 128 bits, as hex. */
const LENGTH = 32;

/** A random key, for an event that is reported without an API key. It is kept with the event. */
export function randomIdempotencyKey(): string {
  return randomBytes(LENGTH / 2).toString("hex");
}

/**
 * Gives the `Idempotency-Key` of each event: the same for each of its attempts, and one that no stranger can compute. An event's id is a
 * digest of what a stranger may know or guess: with the id as key, a stranger could use up the keys of payments to come.
 *
 * The key is derived from the API key and the event's id. An event that was reported without an API key has a key of its own.
 */
export function idempotencyKeys(apiKey: string | undefined): (event: OutboxEvent) => string {
  // Without an API key here, an event that was reported with one gets a key that lasts as long as this process.
  const input = apiKey ?? randomBytes(32);
  const subkey = createSecretKey(
    Buffer.from(hkdfSync("sha256", input, "", "express-affiliate Idempotency-Key", 32)),
  );
  return ({ id, data }) =>
    data.idempotencyKey ?? createHmac("sha256", subkey).update(id).digest("hex").slice(0, LENGTH);
}
