import type { DeadLetter } from "express-affiliate";
import { SLOWEST_MS } from "./disk.js";
import type { EventRecord } from "./event-record.js";
import { CONCURRENCY, type Slot, type TrackerProcess } from "./process.js";
import { checkWaits } from "./waits.js";
import type { World } from "./world.js";

// An endpoint that swallows payments gets one an hour. If the clock is set back, it is an hour more.
const PATIENCE_MS = 75 * 60_000;
const MORE_IF_SET_BACK_MS = 60 * 60_000;
const LONGEST_LOOK_MS = 60_000;
const COUNTING_MS = 100;

/** What has to be so whenever nothing is left to do at a moment. */
export function checkNow(world: World): void {
  for (const { process } of world.slots) {
    if (!process?.owner.isAlive) continue;
    const { inFlight } = process.delivery;
    if (inFlight > CONCURRENCY) {
      world.ledger.breaks("no more attempts at once than allowed", `${process.owner.name} makes ${inFlight}`);
    }
    if (world.schedule.outbox === "memory" && !process.owner.isStalled) checkSum(world, [process]);
  }
}

/** Everything that was accepted is somewhere, once. */
function checkSum({ ledger }: World, processes: readonly TrackerProcess[]): void {
  let accepted = 0;
  let ended = 0;
  for (const { owner, journal } of processes) {
    const { delivered, skipped } = journal.counts;
    accepted += ledger.of(owner).accepted;
    ended += delivered + skipped["not-referred"] + ledger.of(owner).dropped + ledger.of(owner).discarded;
  }
  const { queued, dead } = (processes[0] as TrackerProcess).outbox.counts();
  const deadInAll = dead.rejected + dead.unconfirmed + dead.expired;
  if (queued + deadInAll + ended !== accepted) {
    ledger.breaks(
      "stats() adds up",
      `${accepted} were accepted; ${queued} are queued, ${deadInAll} dead, and ${ended} have ended`,
    );
  }
}

/** Waits until everything has come to its end, and looks whether it is the right one. */
export async function checkAtTheEnd(world: World, check: () => void): Promise<void> {
  const { clock, ledger } = world;
  const isSetBack = world.schedule.steps.some((step) => step.do === "set clock" && step.ms < 0);
  const until = clock.monotonic() + PATIENCE_MS + (isSetBack ? MORE_IF_SET_BACK_MS : 0);
  // What a thread began while its disk was slow ends later. Until then its process counts what it knew before.
  if (world.schedule.outbox === "disk") await clock.passUntil(clock.monotonic() + SLOWEST_MS, check);
  let hasEnded = false;
  for (let lookMs = 250; !ledger.broken && !hasEnded; lookMs = Math.min(2 * lookMs, LONGEST_LOOK_MS)) {
    if (clock.monotonic() > until) return ledger.breaks("everything comes to its end", leftIn(world));
    // One that was told to close, and has, is needed again.
    for (const slot of world.slots) world.start(slot);
    await clock.passUntil(clock.monotonic() + lookMs, check);
    await count(world, check);
    // The first may be of no use, if something changed meanwhile.
    hasEnded = (await count(world, check)) && isDone(world);
  }
  if (ledger.broken) return;
  const letters = await lettersIn(world, check);
  await count(world, check);
  for (const [key, record] of ledger.records) checkEnd(world, record, letters.get(key));
  if (!world.isDisturbed) {
    for (const program of world.programs) checkSum(world, program);
  }
  checkWaits(world);
}

/** All dead letters, by program and id. A fault that has just ended may still fail a call. */
async function lettersIn(world: World, check: () => void): Promise<ReadonlyMap<string, DeadLetter>> {
  const { clock } = world;
  const letters = new Map<string, DeadLetter>();
  let unread = world.slots;
  for (let tries = 1; unread.length > 0; tries++) {
    if (tries > 10) {
      world.ledger.breaks("an operator can read the dead letters", `${unread.length} processes cannot`);
      break;
    }
    const failed: Slot[] = [];
    for (const slot of unread) {
      world.as(slot, ({ outbox, program }) => {
        const take = (all: readonly DeadLetter[]) => {
          for (const letter of all) letters.set(`${program} ${letter.id}`, letter);
        };
        outbox.deadLetters.list({ limit: 100_000 }).then(take, () => failed.push(slot));
      });
    }
    await clock.passUntil(clock.monotonic() + 1_000, check);
    unread = failed;
  }
  return letters;
}

/**
 * What other processes or earlier ones have stored is in a process's counts once it has asked for
 * them. Resolves to whether all processes have.
 */
async function count(world: World, check: () => void): Promise<boolean> {
  const { clock, slots, options } = world;
  if (!options.server) return true;
  const until = clock.monotonic() + LONGEST_LOOK_MS;
  while (world.transactions.size > 0 && clock.monotonic() < until) {
    await clock.passUntil(clock.monotonic() + COUNTING_MS, check);
  }
  const uncounted = new Set(slots);
  for (const slot of slots) {
    world.as(slot, ({ outbox }) => void outbox.look().then(() => uncounted.delete(slot), ignore));
  }
  do await clock.passUntil(clock.monotonic() + COUNTING_MS, check);
  while (uncounted.size > 0 && clock.monotonic() < until);
  return uncounted.size === 0;
}

function isDone({ slots, ledger, transactions }: World): boolean {
  if (ledger.pendingReceipts > 0 || transactions.size > 0) return false;
  return slots.every(({ owner, process }) => {
    if (!owner?.isAlive || !process || owner.isStalled) return false;
    const { queued, trouble } = process.outbox.counts();
    // An outbox that could not open its file yet does not know what is in it.
    return queued === 0 && trouble === undefined && process.delivery.inFlight === 0;
  });
}

function leftIn({ slots, ledger }: World): string {
  const each = slots.map(({ process, owner }) => {
    if (!process) return `${owner?.name} is not there`;
    const { queued, trouble } = process.outbox.counts();
    return `${process.owner.name} has ${queued} queued, ${process.delivery.inFlight} in flight ${trouble ?? ""}`;
  });
  return `after 75 min ${each.join("; ")}; ${ledger.pendingReceipts} receipts are due`;
}

/** It was delivered, or it is dead, dropped, skipped or discarded; a payment was taken once. */
function checkEnd({ ledger, schedule }: World, record: EventRecord, letter: DeadLetter | undefined): void {
  const { name, taken, retries, requests, ends, reporter } = record;
  if (record.kind === "payment" && taken > 1 + retries) {
    ledger.breaks("a payment is reported once", `${name} was taken ${taken} times`);
  }
  if (letter) {
    const last = requests.at(-1)?.end?.attempt;
    const isConflict = last?.type === "answer" && last.status === 409;
    // With a crash a memory outbox loses its events, and the service may take those on their way.
    const isKnown = schedule.outbox !== "memory" && !schedule.bounds;
    if (isKnown && letter.reason === "rejected" && isConflict && taken > 0 && ends.length > 0) {
      ledger.breaks("what was taken is not rejected", name);
    }
    return;
  }
  // In a transaction whose end is unknown, nobody waits for its receipt.
  const isGone = !reporter?.isAlive;
  const mayBeLost = record.storedAs === Number.POSITIVE_INFINITY || schedule.outbox === "memory";
  const isPromised = record.isSpooled || (record.accepted > 0 && !(isGone && mayBeLost));
  if (!isPromised || taken > 0 || ends.length > 0) return;
  // The process that told of it may have been killed before it could.
  if (schedule.bounds || record.isAsked || record.isToBeCancelled) return;
  const promise =
    record.accepted > 0 ? "nothing that was accepted is lost" : "no kill loses what was reported";
  ledger.breaks(promise, `${name} was neither delivered nor is it dead`);
}

function ignore(): void {}
