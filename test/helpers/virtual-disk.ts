import type { Outbox } from "express-affiliate";
import type { Delivery } from "../../src/delivery/delivery.js";
import { storageThrough } from "../../src/outbox/disk/queue/asked.js";
import { countsOf } from "../../src/outbox/disk/queue/counts.js";
import type { Request, Result, Results } from "../../src/outbox/disk/queue/requests.js";
import { createLoop } from "../../src/outbox/disk/thread/loop.js";
import type { OutboxObserver } from "../../src/outbox/outbox.js";
import { kindOf } from "../../src/service/endpoints.js";
import { createAlarm } from "../../src/shared/alarm.js";
import { DESTINATION } from "../contract/samples.js";
import { openDisk } from "./disk-store.js";
import type { FakeClock } from "./fake-clock.js";
import { scratchDirectory } from "./scratch.js";

const LOOK_MS = 500;

/**
 * The disk outbox's file and its loop in virtual time: without the thread, which has a clock of its
 * own.
 */
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
  let cancelLook = () => {};
  const asked: ((results: readonly Result[]) => void)[] = [];
  const loop = createLoop({
    leaseMs: 20_000,
    keeper: {
      attempt(task) {
        const { unreadable: _, ...outcome } = task(disk.store);
        return { ...outcome, problems: [] };
      },
    },
    clock,
    onDone({ results, dropped, snapshot }) {
      alarm.set(snapshot.nextReadyAt);
      for (const { event, reason } of dropped) observer?.dropped(event, reason);
      if (results) asked.shift()?.(results);
    },
    onFailed({ message }) {
      throw new Error(message);
    },
    onNews() {},
  });
  const alarm = createAlarm(clock, loop.wake);

  function ask<R extends Request>(request: R): Promise<Results[R["type"]]> {
    return new Promise((resolve) => {
      asked.push(([result]) => resolve(result as Results[R["type"]]));
      loop.take({ requests: [request], generation: 0 });
    });
  }

  function look(): void {
    cancelLook = clock.after(LOOK_MS, look);
    loop.attempt((store) => store.lookForKilled());
  }

  const { deadLetters: letters } = storageThrough(ask, () => loop.wake());

  return {
    name: "disk",
    durable: true,
    add: (event) => ask({ type: "append", event }),
    start(deliver, told) {
      observer = told;
      const delivery = deliver as Delivery;
      loop.start({
        ...delivery,
        isPaused: (endpoint) => delivery.endpoints[endpoint].state === "paused",
        mayGoTwice: (endpoint) => kindOf(endpoint) !== "payment",
        onError(error) {
          throw error;
        },
      });
      cancelLook = clock.after(LOOK_MS, look);
    },
    wake: loop.wake,
    get idle() {
      return loop.idle;
    },
    circuits: storageThrough(loop.ask).circuits,
    counts: () => countsOf(disk.store.run([]).snapshot.counts, DESTINATION),
    deadLetters: {
      list: (query = {}) => letters.list(query, DESTINATION),
      retry: (id) => letters.retry(id, DESTINATION),
      retryAll: (filter = {}) => letters.retryAll(filter, DESTINATION),
      discard: (id) => letters.discard(id, DESTINATION),
    },
    async close() {
      cancelLook();
      await loop.stop();
      loop.end();
      disk.close();
    },
  };
}
