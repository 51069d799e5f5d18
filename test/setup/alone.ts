/**
 * They replace modules, measure the heap or set what is global: each of them gets a process of its
 * own.
 */
export const ALONE: readonly string[] = [
  "test/docs/monitoring.test.ts",
  "test/conversion/events.test.ts",
  "test/flush.test.ts",
  "test/outbox/disk/file/races.test.ts",
  "test/outbox/disk/thread/thread.test.ts",
  "test/outbox/memory/memory-outbox.test.ts",
  "test/outbox/postgres/late-connection.test.ts",
];
