import { mkdirSync } from "node:fs";
import { checkAtTheEnd, checkNow } from "./accounts.js";
import { STUCK_MS } from "./disk.js";
import type { Broken } from "./ledger.js";
import { livingBy } from "./machine.js";
import { numbersFrom } from "./random.js";
import type { Schedule } from "./schedule.js";
import { perform } from "./steps.js";
import { World, type WorldOptions } from "./world.js";

export interface Outcome {
  readonly broken: Broken | undefined;
  /** Of all that happened, in its order. */
  readonly digest: number;
  /** How many tasks ran, and how many requests, receipts and notices there were. */
  readonly tasks: number;
  readonly events: number;
  readonly trace: readonly string[] | undefined;
}

/** Runs one schedule. The same one gives the same digest. */
export async function run(schedule: Schedule, options: WorldOptions): Promise<Outcome> {
  const world = new World(schedule, options);
  const { clock, ledger, slots, transactions, disk } = world;
  mkdirSync(options.directory, { recursive: true });
  await options.server?.begin(clock);
  const check = () => checkNow(world);
  await livingBy(clock, numbersFrom(`${schedule.seed} for all`), async () => {
    for (const slot of slots) world.start(slot);
    for (const step of schedule.steps) {
      await clock.passUntil(step.at, check);
      if (ledger.broken) break;
      perform(world, step);
    }
    if (!ledger.broken) await recover(world, check);
    for (const slot of slots) world.end(slot);
    for (const transaction of transactions) transaction.end();
    await clock.settle();
  });
  await options.server?.end();
  disk.close();
  const { broken, digest, events, trace } = ledger;
  return { broken, digest: digest >>> 0, events, tasks: clock.tasks, trace };
}

/** All faults end, and every process is there: now everything has to come to its end. */
async function recover(world: World, check: () => void): Promise<void> {
  const { clock, ledger, schedule, service, slots, transactions } = world;
  await clock.passUntil((schedule.steps.at(-1)?.at ?? 0) + 1, check);
  service.faults.clear();
  for (const slot of slots) {
    slot.host.diskFault = undefined;
    slot.host.serverFault = undefined;
    world.start(slot);
  }
  for (const transaction of transactions) transaction.end();
  world.wellSince = clock.monotonic();
  ledger.write("all is well");
  // A thread that was started before has a few transactions to make, each of which takes so long. Until
  // then it does not look for spool files, and nothing shows that one is there.
  if (schedule.steps.some((step) => step.do === "disk" && step.fault === "stuck"))
    await clock.passUntil(world.wellSince + 4 * STUCK_MS, check);
  await checkAtTheEnd(world, check);
}
