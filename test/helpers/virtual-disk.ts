import { storageThrough } from "../../src/outbox/disk/queue/asked.js";
import { countsOf } from "../../src/outbox/disk/queue/counts.js";
import { type Ask, type DiskClaim, type Results, settling } from "../../src/outbox/disk/queue/requests.js";
import type { TransactionOutcome } from "../../src/outbox/disk/queue/store.js";
import { createDurable } from "../../src/outbox/durable.js";
import type { Outbox } from "../../src/outbox/outbox.js";
import { createAlarm } from "../../src/shared/alarm.js";
import { openDisk } from "./disk-store.js";
import type { FakeClock } from "./fake-clock.js";
import { scratchDirectory } from "./scratch.js";

const LOOK_MS = 500;

/** The disk outbox in virtual time: without its thread, which has a clock of its own. */
export function virtualDisk(
  clock: FakeClock,
  { directory = scratchDirectory(), owner = "me" }: { directory?: string; owner?: string } = {},
): Outbox {
  const disk = openDisk(directory, { owner, time: clock.now, maxBytes: 1024 ** 3 });
  let cancelLook = () => {};

  const ask: Ask = async <R extends Parameters<Ask>[0]>(request: R) => {
    const outcome = disk.store.run([request]);
    receive(outcome);
    return outcome.results[0] as Results[R["type"]];
  };

  function receive({ dropped, snapshot }: TransactionOutcome): void {
    alarm.set(snapshot.nextReadyAt);
    for (const { event, reason } of dropped) notify((to) => to.dropped(event, reason));
  }

  function look(): void {
    cancelLook = clock.after(LOOK_MS, look);
    receive(disk.store.lookForKilled());
    wake();
  }

  const { outbox, wake, notify } = createDurable<DiskClaim>(
    {
      ...storageThrough(ask, () => wake()),
      append: (event) => ask({ type: "append", event }),
      claim: (capacity) =>
        ask({ type: "claim", capacity: { ...capacity, limit: Math.min(capacity.limit, 256) } }),
      settle: (claim, verdict) => ask(settling(claim, verdict)),
      counts: (destination) => countsOf(disk.store.run([]).snapshot.counts, destination),
      start: look,
      async close() {
        cancelLook();
        alarm.stop();
        disk.close();
      },
    },
    { name: "disk", maxMemoryBytes: 1024 ** 2, clock },
  );
  const alarm = createAlarm(clock, wake);
  return outbox;
}
