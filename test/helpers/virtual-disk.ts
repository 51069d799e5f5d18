import type { Outbox, OutboxObserver } from "express-affiliate/outbox";
import { deadLettersThrough } from "../../src/outbox/disk/asked-dead-letters.js";
import { countsOf } from "../../src/outbox/disk/counts.js";
import { type DiskClaim, type Results, settling } from "../../src/outbox/disk/protocol.js";
import { createRelay } from "../../src/outbox/relay.js";
import { DESTINATION } from "../../src/testing/contract/samples.js";
import { openDisk } from "./disk-store.js";
import type { FakeClock } from "./fake-clock.js";
import { scratchDirectory } from "./scratch.js";

/** The disk outbox's file and its relay in virtual time: without the thread, which has a clock of its own. */
export function virtualDisk(
  clock: FakeClock,
  { directory = scratchDirectory(), owner = "me" }: { directory?: string; owner?: string } = {},
): Outbox {
  const disk = openDisk(directory, {
    owner,
    time: clock.now,
    maxBytes: 1024 ** 3,
  });
  let observer: OutboxObserver | undefined;
  let cancelWake = () => {};

  function run<Name extends keyof Results>(
    request: Parameters<typeof disk.store.run>[0][number] & { type: Name },
  ) {
    const { results, dropped, snapshot } = disk.store.run([request]);
    for (const { event, reason } of dropped) observer?.dropped(event, reason);
    cancelWake();
    const { nextReadyAt } = snapshot;
    if (nextReadyAt !== null)
      cancelWake = clock.after(Math.max(0, nextReadyAt - clock.now()), () => relay.wake());
    return { result: results[0] as Results[Name], snapshot };
  }

  const relay = createRelay<DiskClaim>(
    {
      claim: (capacity) => run({ type: "claim", capacity }).result as DiskClaim[],
      settle: (claim, verdict) => void run(settling(claim, verdict)),
    },
    (error) => {
      throw error;
    },
  );

  const letters = deadLettersThrough(
    async (request) => run(request as never).result as never,
    () => relay.wake(),
  );

  return {
    name: "disk",
    durable: true,
    async add(event) {
      const { result } = run({ type: "append", event });
      relay.wake();
      return result as "queued" | "duplicate" | "full";
    },
    start(deliver, told) {
      observer = told;
      relay.start(deliver);
    },
    wake: relay.wake,
    get idle() {
      return relay.idle;
    },
    circuits: {
      read: async (destination) => run({ type: "circuits", destination }).result,
      replace: async (change) => run({ type: "replace circuit", ...change }).result,
    },
    counts: () => countsOf(disk.store.run([]).snapshot, DESTINATION),
    deadLetters: {
      list: (query = {}) => letters.list(query, DESTINATION),
      retry: (id) => letters.retry(id, DESTINATION),
      retryAll: (filter = {}) => letters.retryAll(filter, DESTINATION),
      discard: (id) => letters.discard(id, DESTINATION),
    },
    async close() {
      await relay.stop();
      disk.close();
    },
  };
}
