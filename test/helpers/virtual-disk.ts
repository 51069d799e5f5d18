import { callsThrough, type DiskClaim, settledOf, storageOf } from "../../src/outbox/disk/store/calls.js";
import type { TransactionOutcome } from "../../src/outbox/disk/store/store.js";
import { createDurable } from "../../src/outbox/durable.js";
import type { Outbox } from "../../src/outbox/outbox.js";
import { countsOf } from "../../src/outbox/queue/counts.js";
import { Scope } from "../../src/outbox/queue/database.js";
import { DESTINATION } from "../contract/samples.js";
import { openDisk } from "./disk-store.js";
import type { FakeClock } from "./fake-clock.js";
import { scratchDirectory } from "./scratch.js";

const LOOK_MS = 500;
/** The client id that its file is opened for. */
const SCOPE = new Scope(DESTINATION);

/** The disk outbox in virtual time: without its thread, which has a clock of its own. */
export function virtualDisk(
  clock: FakeClock,
  {
    directory = scratchDirectory(),
    owner = "me",
    lookMs = LOOK_MS,
  }: { directory?: string; owner?: string; lookMs?: number } = {},
): Outbox {
  const disk = openDisk(directory, {
    owner,
    time: clock.now,
    monotonic: clock.monotonic,
    maxBytes: 1024 ** 3,
  });
  let cancelLook = () => {};
  let last: TransactionOutcome["counts"] = [];

  const calls = callsThrough(async (call) => {
    const outcome = await disk.run(call);
    receive(outcome);
    return outcome.results[0];
  });

  function receive({ dropped, counts }: TransactionOutcome): void {
    last = counts;
    for (const { event, reason } of dropped) notify((to) => to.dropped(event, reason));
  }

  async function look(): Promise<void> {
    cancelLook = clock.after(lookMs, look);
    receive(await disk.store.look());
    wake();
  }

  const { outbox, wake, notify } = createDurable<DiskClaim>(
    {
      ...storageOf(calls),
      append: (event) => calls.append(event),
      claim: calls.claim,
      settle: (claim, verdict) => calls.settle(settledOf(claim), verdict),
      bind() {},
      counts: () => countsOf(last, SCOPE),
      start: () => void look(),
      async close() {
        cancelLook();
        disk.close();
      },
    },
    { name: "disk", maxMemoryBytes: 1024 ** 2, pollMs: 1_000, clock },
  );
  return outbox;
}
