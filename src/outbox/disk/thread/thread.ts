import { type MessagePort, workerData } from "node:worker_threads";
import { systemClock } from "../../../shared/clock.js";
import type { OutboxError } from "../../../shared/errors.js";
import { clearInterval, setImmediate, setInterval } from "../../../shared/real-timers.js";
import { createFileKeeper, type Task } from "./file-keeper.js";
import { type Batch, type Exit, type Message, type Reply, SIGNALS, type ThreadOptions } from "./protocol.js";

const LOOK_MS = 500;
// Of a lease.
const LOOKS = 4;
const THOROUGH_EACH = 10;

// For so long at most, the thread stores what other processes left before the host's first event.
const TAKE_IN_MS = 500;

/**
 * The disk outbox's own thread: only it waits for the disk. It stores, and does nothing else. What
 * a message asks for awaits microtasks alone, so it is done before the next message.
 */
const options = workerData as ThreadOptions & { port: MessagePort };
const { leaseMs, port, signals } = options;
const keeper = createFileKeeper(options);
let timer: NodeJS.Timeout | undefined;
let looks = 0;
let failedGeneration = -1;
let hasEnded = false;

port.on("message", (message: Message) => {
  if (message === "close") void end();
  else if (typeof message === "number") keeper.bind(message);
  else if ("begun" in message) void exit(message);
  else void carryOut(message);
});
// Not before it has tried: if its host gives up, it has to end soon.
void open().finally(() => {
  timer = setInterval(() => void look(), Math.min(LOOK_MS, leaseMs / LOOKS));
});

async function open(): Promise<void> {
  // Its host waits for the first thread alone. Each look tries again.
  const isOpen = await attempt((store) => store.run([]), options.inherited ? undefined : fail);
  // Before the host's first event: an earlier one of its visitor may be among these.
  if (isOpen) await takeIn(TAKE_IN_MS);
}

async function carryOut({ calls, generation }: Batch): Promise<void> {
  if (generation === failedGeneration) return;
  // An ended process may have left a person's events, or the payment, in its spool file.
  const areSearches = calls.some(({ name }) => ["page", "erase", "cancel"].includes(name));
  while (areSearches && keeper.takeIn.finds() && (await attempt(keeper.takeIn.step)));
  try {
    post({ type: "done", ...(await keeper.attempt((store) => store.run(calls))) });
  } catch (error) {
    failedGeneration = generation;
    fail(error as OutboxError);
  }
}

async function look(): Promise<void> {
  await attempt((store) => store.look(looks++ % THOROUGH_EACH === 0));
  await takeIn();
}

/** Without `onError`: appends and claims report what is wrong with the file. */
async function attempt(task: Task, onError = (_: OutboxError) => {}): Promise<boolean> {
  try {
    post({ type: "looked", ...(await keeper.attempt(task)) });
    return true;
  } catch (error) {
    onError(error as OutboxError);
    return false;
  }
}

async function takeIn(forMs = 0): Promise<void> {
  const deadline = systemClock.monotonic() + forMs;
  do {
    // Once closed, the file stays closed.
    if (hasEnded || !keeper.takeIn.finds() || !(await attempt(keeper.takeIn.step))) return;
  } while (systemClock.monotonic() < deadline);
  // The next lines come after the calls that have come.
  setImmediate(() => void takeIn());
}

function fail({ code, message }: OutboxError): void {
  post({ type: "failed", code, message });
}

function post(reply: Reply): void {
  port.postMessage(reply);
  Atomics.add(signals, SIGNALS.replied, 1);
  Atomics.notify(signals, SIGNALS.replied);
}

async function exit({ begun }: Exit): Promise<void> {
  if (!hasEnded) await attempt((store) => store.giveBackAllBut(begun));
  await end();
}

async function end(): Promise<void> {
  if (hasEnded) return;
  hasEnded = true;
  clearInterval(timer);
  await keeper.close();
  port.close();
  Atomics.add(signals, SIGNALS.closed, 1);
  Atomics.notify(signals, SIGNALS.closed);
}
