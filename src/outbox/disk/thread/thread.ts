import { type MessagePort, workerData } from "node:worker_threads";
import { createEngine } from "../../../engine/engine.js";
import { createJournalRecorder } from "../../../engine/journal-recorder.js";
import { setNetworkDefaults } from "../../../engine/network-defaults.js";
import { createStatusReporter } from "../../../engine/status-reporter.js";
import { kindOf } from "../../../service/endpoints.js";
import { createAlarm } from "../../../shared/alarm.js";
import { systemClock } from "../../../shared/clock.js";
import { errorFrom, type OutboxError } from "../../../shared/errors.js";
import { clearInterval, setImmediate, setInterval } from "../../../shared/real-timers.js";
import type { DeliveryPlan, DeliveryReport } from "../../remote.js";
import { LOOKS } from "../queue/lease-epoch.js";
import { createFileKeeper, type Task } from "./file-keeper.js";
import { createLoop, type Kept } from "./loop.js";
import { type Message, type Reply, SIGNALS, type ThreadOptions } from "./protocol.js";

/** The least time between two reports to the host while events are under way. */
const APART_MS = 10;

const LOOK_MS = 500;

/** The most that a starting host waits for what other processes left; the rest is stored later. */
const TAKE_IN_MS = 1_000;

/** The disk outbox's own thread. Only it waits for the disk. It delivers once it has a plan. */
const options = workerData as ThreadOptions & { port: MessagePort };
const { owner, leaseMs, port, signals } = options;
const clock = systemClock;
const keeper = createFileKeeper(options);
const reporter = createStatusReporter({ send: postUntold, isUrgent, apartMs: APART_MS, clock });
const loop = createLoop({
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
let engine: ReturnType<typeof startEngine> | undefined;
let hasEnded = false;
let snapshot: Kept["snapshot"] | undefined;
const NOTHING: Omit<Kept, "snapshot"> = { dropped: [], problems: [] };
/** What the next report to the host adds to the state. It goes out after this tick. */
let untold = NOTHING;

port.on("message", (message: Message) => {
  if (message === "open") open();
  else if (message === "close") void close();
  else if (message === "end") endWithProcess();
  else if (message === "report attempts") engine?.reportAttempts();
  else if (message === "stop") engine?.stop();
  else if (message === "abort") engine?.abort();
  else if ("deliver" in message) engine = startEngine(message.deliver);
  else loop.take(message);
});

function open(): void {
  try {
    loop.attempt((store) => store.run([]));
    // Before the host's first event: an earlier one of its visitor may be among these.
    takeIn({ isThorough: true, forMs: TAKE_IN_MS });
    reporter.now();
  } catch (error) {
    const { code, message } = error as OutboxError;
    post({ type: "failed", generation: 0, code, message });
  }
}

/** Delivers by this plan. */
function startEngine(plan: DeliveryPlan) {
  if (plan.network) setNetworkDefaults(plan.network);
  const record = createJournalRecorder(reporter.soon);
  if (plan.reportsAttempts) record.recordAttempts();
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
  loop.start({
    ...delivery,
    isPaused: (endpoint) => delivery.endpoints[endpoint].state === "paused",
    mayGoTwice: (endpoint) => plan.ambiguous[kindOf(endpoint)] === "retry",
    onError: (error) => record.journal.log("error", `delivery failed: ${errorFrom(error).message}`),
  });
  return {
    report(): DeliveryReport {
      return { entries: record.take(), inFlight: delivery.inFlight, endpoints: delivery.endpoints };
    },
    reportAttempts: record.recordAttempts,
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
}

function look(task: Task): boolean {
  try {
    loop.attempt(task);
    return true;
  } catch {
    // Appends and claims report what is wrong with the file.
    return false;
  }
}

function takeIn({ isThorough = false, forMs = 0 } = {}): void {
  const deadline = clock.monotonic() + forMs;
  let isDone = !keeper.isOpen;
  do isDone ||= !(keeper.takeIn.finds(isThorough) && look(keeper.takeIn.step));
  while (!isDone && clock.monotonic() < deadline);
  // The next lines come after the passes that are due.
  if (!isDone && !hasEnded) setImmediate(() => takeIn());
}

/** Reports after this tick at the earliest: by then, claimed events are under way. */
function tell(kept: Kept): void {
  snapshot = kept.snapshot;
  alarm.set(snapshot.nextReadyAt);
  if (kept.results && untold.results) reporter.now();
  untold = {
    ...untold,
    ...(kept.results && { results: kept.results }),
    dropped: [...untold.dropped, ...kept.dropped],
    problems: [...untold.problems, ...kept.problems],
  };
  reporter.soon();
}

function isUrgent(): boolean {
  const { results, dropped, problems } = untold;
  return results !== undefined || dropped.length + problems.length > 0 || !engine || loop.idle;
}

function postUntold(): void {
  // If the file could not be read yet, replies to the host's own requests say so.
  if (!snapshot) return;
  const told = untold;
  untold = NOTHING;
  const { idle, problem } = loop;
  const delivery = engine && {
    idle,
    ...(problem && { problem: { code: problem.code, message: problem.message } }),
    report: engine.report(),
  };
  post({ type: "done", snapshot, ...told, ...(delivery && { delivery }) });
}

function post(reply: Reply): void {
  port.postMessage(reply);
  Atomics.add(signals, SIGNALS.replied, 1);
  Atomics.notify(signals, SIGNALS.replied);
}

/** Stores what the host has in memory, too, because the file failed. */
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
