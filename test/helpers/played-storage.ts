import { recordingOutbox } from "express-affiliate/testing";
import { createDurable, type DurableStorage } from "../../src/outbox/durable.js";
import type { Claim } from "../../src/outbox/outbox.js";
import { systemClock } from "../../src/shared/clock.js";

/** A durable outbox over a storage that a test plays. It stores nothing but what the test makes it store. */
export function overStorage(played: Partial<DurableStorage<Claim>> = {}, clock = systemClock) {
  const storage: DurableStorage<Claim> = {
    append: async () => "queued",
    claim: async () => [],
    settle: async () => {},
    bind() {},
    counts: () => ({ queued: 0, oldest: null, dead: { rejected: 0, unconfirmed: 0, expired: 0 } }),
    look: async () => {},
    cancel: async () => "unknown",
    personal: { async *pages() {}, remove: async () => 0 },
    deadLetters: recordingOutbox().deadLetters,
    ...played,
  };
  return createDurable(storage, { name: "played", maxMemoryBytes: 1_000_000, pollMs: 1_000, clock });
}
