import { type MessagePort, workerData } from "node:worker_threads";
import { createEngine } from "../../engine/engine.js";
import { setNetworkDefaults } from "../../engine/network-defaults.js";
import { createRecord } from "../../engine/record.js";
import { createStatusReporter } from "../../engine/status-reporter.js";
import { kindOf } from "../../service/endpoints.js";
import { systemClock } from "../../shared/clock.js";
import { errorFrom } from "../../shared/errors.js";
import { clearInterval, setImmediate, setInterval } from "../../shared/real-timers.js";
import type { DeliveryPlan, DeliveryReport } from "../remote.js";
import { createAlarm } from "./alarm.js";
import { createFileKeeper } from "./file-keeper.js";
import { createLoop, type Kept } from "./loop.js";
import { problemOf } from "./problems.js";
import {
  type Done,
  type Dropped,
  type Message,
  type Problem,
  type Reply,
  SIGNALS,
  type Snapshot,
  type ThreadOptions,
} from "./protocol.js";
import type { Store, TransactionOutcome } from "./store.js";
import { LOOKS } from "./upkeep.js";

/** How far apart reports to the host are while events are under way. */
const APART_MS = 10;

/** How often it looks for killed processes. */
const LOOK_MS = 500;

/** How long a host that starts waits at most for what other processes have left. It may be more than this: then it goes on later. */
const TAKE_IN_MS = 1_000;

/** Delivery in this thread, once the host has sent a plan. */
interface Engine {
  report(): DeliveryReport;
  tellAttempts(): void;
  /** Begins no more attempts. */
  stop(): void;
  /** Ends all attempts under way. */
  abort(): void;
  /** Resolves once no attempt is under way. */
  close(): Promise<void>;
}

/** The disk outbox's own thread. It alone waits for the disk, and it delivers once the host has sent a plan. */
const options = workerData as ThreadOptions & { port: MessagePort };
const { path, owner, leaseMs, port, signals } = options;
const clock = systemClock;
const keeper = createFileKeeper(options);
const reporter = createStatusReporter({ tell: postUntold, isUrgent, apartMs: APART_MS, clock });
const loop = createLoop({
  path,
  leaseMs,
  keeper,
  clock,
  onDone: tell,
  onFailed: post,
  onNews: reporter.soon,
});
const alarm = createAlarm(clock, loop.wake);
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
let engine: Engine | undefined;
let hasEnded = false;
let snapshot: Snapshot | undefined;
/** What is to be reported to the host at the end of this tick, beside the state. */
let untold = nothing();

port.on("message", (message: Message) => {
  if (message === "open") open();
  else if (message === "close") void close();
  else if (message === "end") endWithProcess();
  else if (message === "tell attempts") engine?.tellAttempts();
  else if (message === "stop") engine?.stop();
  else if (message === "abort") engine?.abort();
  else if ("deliver" in message) deliver(message.deliver);
  else loop.take(message);
});

function nothing() {
  return { results: undefined as Done["results"], dropped: [] as Dropped[], problems: [] as Problem[] };
}

function open(): void {
  try {
    loop.attempt((store) => store.run([]));
    // Before the host's first event: an earlier one of the same visitor may be among them.
    takeIn({ isThorough: true, forMs: TAKE_IN_MS });
    reporter.now();
  } catch (error) {
    post({ type: "failed", generation: 0, ...problemOf(error, path) });
  }
}

function deliver(plan: DeliveryPlan): void {
  if (plan.network) setNetworkDefaults(plan.network);
  const record = createRecord(reporter.soon);
  if (plan.tellsAttempts) record.tellAttempts();
  const { transport, createDelivery } = createEngine(plan, {
    journal: record.journal,
    onCapacity: loop.wake,
    clock,
    circuits: {
      read: (destination) => loop.ask({ type: "circuits", destination }),
      replace: (change) => loop.ask({ type: "replace circuit", ...change }),
    },
  });
  transport.prepare();
  const delivery = createDelivery();
  engine = {
    report: () => ({ entries: record.take(), inFlight: delivery.inFlight, endpoints: delivery.endpoints }),
    tellAttempts: record.tellAttempts,
    stop() {
      delivery.stop();
      void loop.stop();
    },
    abort: transport.abort,
    async close() {
      delivery.stop();
      await loop.stop();
      await transport.close();
    },
  };
  loop.start({
    ...delivery,
    isPaused: (endpoint) => delivery.endpoints[endpoint].state === "paused",
    mayGoTwice: (endpoint) => plan.ambiguous[kindOf(endpoint)] === "retry",
    onError: (error) => record.journal.log("error", `delivery failed: ${errorFrom(error).message}`),
  });
}

/** Returns whether it was done. */
function look(task: (store: Store) => TransactionOutcome): boolean {
  try {
    loop.attempt(task);
    return true;
  } catch {
    // Appends and claims report what is wrong with the file.
    return false;
  }
}

/** Stores what processes that are gone have left. */
function takeIn({ isThorough = false, forMs = 0 } = {}): void {
  const deadline = clock.monotonic() + forMs;
  let isDone = !keeper.isOpen;
  do isDone ||= !(keeper.takeIn.finds(isThorough) && look(keeper.takeIn.step));
  while (!isDone && clock.monotonic() < deadline);
  // The next lines after the passes that are due.
  if (!isDone && !hasEnded) setImmediate(() => takeIn());
}

/** Reports to the host at the end of this tick at the earliest: claimed events are under way by then. */
function tell(kept: Kept): void {
  snapshot = kept.snapshot;
  alarm.set(snapshot);
  if (kept.results && untold.results) reporter.now();
  untold.results ??= kept.results;
  untold.dropped.push(...kept.dropped);
  untold.problems.push(...kept.problems);
  reporter.soon();
}

function isUrgent(): boolean {
  const { results, dropped, problems } = untold;
  return results !== undefined || dropped.length + problems.length > 0 || !engine || loop.idle;
}

function postUntold(): void {
  // If the file could not be read yet, the replies to the host's own requests say so.
  if (!snapshot) return;
  const { results, ...others } = untold;
  untold = nothing();
  const { idle, problem } = loop;
  const delivery = engine && {
    idle,
    ...(problem && { problem: { code: problem.code, message: problem.message } }),
    report: engine.report(),
  };
  post({ type: "done", snapshot, ...others, ...(results && { results }), ...(delivery && { delivery }) });
}

function post(reply: Reply): void {
  port.postMessage(reply);
  Atomics.add(signals, SIGNALS.replied, 1);
  Atomics.notify(signals, SIGNALS.replied);
}

/** Also stores what the host has in its memory because the file failed. */
function endWithProcess(): void {
  loop.end();
  keeper.takeIn.endWith(owner);
  takeIn({ forMs: TAKE_IN_MS });
  end();
}

async function close(): Promise<void> {
  await engine?.close();
  end();
}

function end(): void {
  if (hasEnded) return;
  hasEnded = true;
  for (const each of upkeep) clearInterval(each);
  alarm.stop();
  loop.end();
  reporter.now();
  keeper.close();
  port.close();
  Atomics.add(signals, SIGNALS.closed, 1);
  Atomics.notify(signals, SIGNALS.closed);
}
