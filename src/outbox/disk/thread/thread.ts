import { type MessagePort, workerData } from "node:worker_threads";
import { systemClock } from "../../../shared/clock.js";
import type { OutboxError } from "../../../shared/errors.js";
import { clearInterval, setImmediate, setInterval } from "../../../shared/real-timers.js";
import { LOOKS } from "../queue/lease-epoch.js";
import { createFileKeeper, type KeptOutcome, type Task } from "./file-keeper.js";
import { type Batch, type Message, type Reply, SIGNALS, type ThreadOptions } from "./protocol.js";

const LOOK_MS = 500;

/** The most that a starting host waits for what other processes left; the rest is stored later. */
const TAKE_IN_MS = 1_000;

/** The disk outbox's own thread: only it waits for the disk. It stores, and does nothing else. */
const options = workerData as ThreadOptions & { port: MessagePort };
const { owner, leaseMs, port, signals } = options;
const clock = systemClock;
const keeper = createFileKeeper(options);
const upkeep = [
  setInterval(() => {
    look((store) => store.lookAfter());
    takeIn({ isThorough: true });
  }, leaseMs / LOOKS),
  setInterval(
    () => {
      if (keeper.isOpen) look((store) => store.lookForKilled());
      takeIn();
    },
    Math.min(LOOK_MS, leaseMs / LOOKS),
  ),
];
/** The generation of the last batch that failed. Its other batches are ignored. */
let failedGeneration = -1;
let hasEnded = false;

port.on("message", (message: Message) => {
  if (message === "open") open();
  else if (message === "close") end();
  else if (message === "end") endWithProcess();
  else if (message.generation !== failedGeneration) carryOut(message);
});

function open(): void {
  try {
    const done = [keeper.attempt((store) => store.run([]))];
    // Before the host's first event: an earlier one of its visitor may be among these.
    takeIn({ isThorough: true, forMs: TAKE_IN_MS, onDone: (each) => done.push(each) });
    const { snapshot } = done.at(-1) as KeptOutcome;
    const dropped = done.flatMap((each) => each.dropped);
    post({ type: "done", snapshot, dropped, problems: done.flatMap((each) => each.problems) });
  } catch (error) {
    fail(error as OutboxError, 0);
  }
}

function carryOut({ requests, generation }: Batch): void {
  try {
    post({ type: "done", ...keeper.attempt((store) => store.run(requests)) });
  } catch (error) {
    failedGeneration = generation;
    fail(error as OutboxError, generation);
  }
}

function look(task: Task, onDone: (outcome: KeptOutcome) => void = tell): boolean {
  try {
    onDone(keeper.attempt(task));
    return true;
  } catch {
    // Appends and claims report what is wrong with the file.
    return false;
  }
}

function tell({ snapshot, dropped, problems }: KeptOutcome): void {
  post({ type: "done", snapshot, dropped, problems });
}

function takeIn({ isThorough = false, forMs = 0, onDone = tell } = {}): void {
  const deadline = clock.monotonic() + forMs;
  let isDone = !keeper.isOpen;
  do isDone ||= !(keeper.takeIn.finds(isThorough) && look(keeper.takeIn.step, onDone));
  while (!isDone && clock.monotonic() < deadline);
  // The next lines come after the batches that have come.
  if (!isDone && !hasEnded) setImmediate(() => takeIn());
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
function endWithProcess(): void {
  keeper.takeIn.endWith(owner);
  takeIn({ forMs: TAKE_IN_MS });
  end();
}

function end(): void {
  if (hasEnded) return;
  hasEnded = true;
  for (const each of upkeep) clearInterval(each);
  keeper.close();
  port.close();
  Atomics.add(signals, SIGNALS.closed, 1);
  Atomics.notify(signals, SIGNALS.closed);
}
