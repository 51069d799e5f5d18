import { type MessagePort, workerData } from "node:worker_threads";
import { systemClock } from "../../../shared/clock.js";
import type { OutboxError } from "../../../shared/errors.js";
import { clearInterval, setImmediate, setInterval, setTimeout } from "../../../shared/real-timers.js";
import { createFileKeeper, type KeptOutcome, type Task } from "./file-keeper.js";
import { type Batch, type Message, type Reply, SIGNALS, type ThreadOptions } from "./protocol.js";

// Of a lease.
const LOOKS = 4;
const LOOK_MS = 500;

/** The most that a starting host waits for what other processes left; the rest is stored later. */
const TAKE_IN_MS = 1_000;

/**
 * The disk outbox's own thread: only it waits for the disk. It stores, and does nothing else. What
 * a message asks for awaits microtasks alone, so it is done before the next message.
 */
const options = workerData as ThreadOptions & { port: MessagePort };
const { owner, leaseMs, port, signals } = options;
const clock = systemClock;
const keeper = createFileKeeper(options);
const upkeep = [
  setInterval(lookAfter, leaseMs / LOOKS),
  setInterval(lookForKilled, Math.min(LOOK_MS, leaseMs / LOOKS)),
];
/** The generation of the last batch that failed. Its other batches are ignored. */
let failedGeneration = -1;
let hasEnded = false;

port.on("message", (message: Message) => {
  if (message === "open") void open();
  else if (message === "close") void end();
  else if (message === "end") void endWithProcess();
  else if (typeof message === "number") keeper.bind(message);
  else void carryOut(message);
});

async function lookAfter(): Promise<void> {
  await look((store) => store.lookAfter());
  await takeIn({ isThorough: true });
}

async function lookForKilled(): Promise<void> {
  if (keeper.isOpen) await look((store) => store.look());
  await takeIn();
}

async function open(): Promise<void> {
  try {
    const done = [await keeper.attempt((store) => store.run([]))];
    // Before the host's first event: an earlier one of its visitor may be among these.
    await takeIn({ isThorough: true, forMs: TAKE_IN_MS, onDone: (each) => done.push(each) });
    const { snapshot } = done.at(-1) as KeptOutcome;
    const dropped = done.flatMap((each) => each.dropped);
    post({ type: "done", snapshot, dropped, problems: done.flatMap((each) => each.problems) });
  } catch (error) {
    fail(error as OutboxError, 0);
    // Its host asks the first thread alone.
    if (options.inherited) setTimeout(openAgain, LOOK_MS);
  }
}

function openAgain(): void {
  if (!hasEnded && !keeper.isOpen) void open();
}

async function carryOut({ requests, generation }: Batch): Promise<void> {
  if (generation === failedGeneration) return;
  try {
    post({ type: "done", ...(await keeper.attempt((store) => store.run(requests))) });
  } catch (error) {
    failedGeneration = generation;
    fail(error as OutboxError, generation);
  }
}

async function look(task: Task, onDone: (outcome: KeptOutcome) => unknown = tell): Promise<boolean> {
  try {
    onDone(await keeper.attempt(task));
    return true;
  } catch {
    // Appends and claims report what is wrong with the file.
    return false;
  }
}

function tell({ snapshot, dropped, problems }: KeptOutcome): void {
  post({ type: "done", snapshot, dropped, problems });
}

async function takeIn({
  isThorough = false,
  forMs = 0,
  onDone = tell as (outcome: KeptOutcome) => unknown,
} = {}): Promise<void> {
  const deadline = clock.monotonic() + forMs;
  let isDone = !keeper.isOpen;
  do isDone ||= !(keeper.takeIn.finds(isThorough) && (await look(keeper.takeIn.step, onDone)));
  while (!isDone && clock.monotonic() < deadline);
  // The next lines come after the batches that have come.
  if (!isDone && !hasEnded) setImmediate(() => void takeIn());
}

function fail({ code, message }: OutboxError, generation: number): void {
  post({ type: "failed", generation, code, message });
}

function post(reply: Reply): void {
  port.postMessage(reply);
  Atomics.add(signals, SIGNALS.replied, 1);
  Atomics.notify(signals, SIGNALS.replied);
}

/** Stores what the host has in memory, too, because the file failed. */
async function endWithProcess(): Promise<void> {
  keeper.takeIn.endWith(owner);
  await takeIn({ forMs: TAKE_IN_MS });
  await end();
}

async function end(): Promise<void> {
  if (hasEnded) return;
  hasEnded = true;
  for (const each of upkeep) clearInterval(each);
  await keeper.close();
  port.close();
  Atomics.add(signals, SIGNALS.closed, 1);
  Atomics.notify(signals, SIGNALS.closed);
}
