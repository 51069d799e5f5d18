import type { OutboxParts } from "express-affiliate/outbox";

/** The parts of an outbox of another author's, which stores nothing. */
export const storesNothing: OutboxParts = {
  name: "other",
  append: async () => "queued",
  claim: async () => [],
  settle: async () => {},
  counts: () => ({ queued: 0, oldest: null, dead: { rejected: 0, unconfirmed: 0, expired: 0 } }),
  deadLetters: { list: async () => [], retry: async () => false, discard: async () => false },
};
