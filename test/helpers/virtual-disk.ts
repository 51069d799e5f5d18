import { countsOf } from "../../src/outbox/disk/disk-outbox.js";
import { settling, storageThrough } from "../../src/outbox/disk/store/asked.js";
import type { Ask, DiskClaim, Results, Snapshot } from "../../src/outbox/disk/store/requests.js";
import type { TransactionOutcome } from "../../src/outbox/disk/store/store.js";
import { createDurable } from "../../src/outbox/durable.js";
import type { Outbox } from "../../src/outbox/outbox.js";
import { createCounts } from "../../src/outbox/queue/counts.js";
import { wakeForRetry } from "../../src/outbox/verdicts.js";
import { openDisk } from "./disk-store.js";
import type { FakeClock } from "./fake-clock.js";
import { scratchDirectory } from "./scratch.js";

const LOOK_MS = 500;
const NO_COUNTS = createCounts(async () => []).current(undefined);

/** The disk outbox in virtual time: without its thread, which has a clock of its own. */
export function virtualDisk(
  clock: FakeClock,
  { directory = scratchDirectory(), owner = "me" }: { directory?: string; owner?: string } = {},
): Outbox {
  const disk = openDisk(directory, {
    owner,
    time: clock.now,
    monotonic: clock.monotonic,
    maxBytes: 1024 ** 3,
  });
  let cancelLook = () => {};
  let last: Pick<Snapshot, "counts"> = { counts: { all: NO_COUNTS, of: {} } };

  const ask: Ask = async <R extends Parameters<Ask>[0]>(request: R) => {
    const outcome = await disk.run(request);
    receive(outcome);
    return outcome.results[0] as Results[R["type"]];
  };

  function receive({ dropped, snapshot }: TransactionOutcome): void {
    last = snapshot;
    for (const { event, reason } of dropped) notify((to) => to.dropped(event, reason));
  }

  async function look(): Promise<void> {
    cancelLook = clock.after(LOOK_MS, look);
    receive(await disk.store.look());
    wake();
  }

  const { outbox, wake, notify } = createDurable<DiskClaim>(
    {
      ...storageThrough(ask, () => wake()),
      append: (event) => ask({ type: "append", event }),
      claim: (capacity) => ask({ type: "claim", capacity }),
      async settle(claim, verdict) {
        const isActedOn = await ask(settling(claim, verdict));
        wakeForRetry(verdict, { pollMs: 1_000, clock, wake });
        return isActedOn;
      },
      counts: (destination) => countsOf(last, destination),
      start: () => void look(),
      async close() {
        cancelLook();
        disk.close();
      },
    },
    { name: "disk", maxMemoryBytes: 1024 ** 2, clock },
  );
  return outbox;
}
