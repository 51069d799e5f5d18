import { randomUUID } from "node:crypto";
import { type MessagePort, workerData } from "node:worker_threads";
import { createStatusReporter } from "../../engine/status-reporter.js";
import { createThreadEngine, type ThreadEngine } from "../../engine/thread-engine.js";
import { systemClock } from "../../shared/clock.js";
import { clearInterval, setImmediate, setInterval } from "../../shared/real-timers.js";
import type { DeliveryPlan } from "../remote.js";
import { createAlarm } from "./alarm.js";
import { circuitsThrough } from "./asked-circuits.js";
import { claimsThrough } from "./asked-claims.js";
import { createFileKeeper } from "./file-keeper.js";
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
import { createTurns } from "./turns.js";
import { LOOKS } from "./upkeep.js";

/** How far apart reports to the host are while events are under way. */
const APART_MS = 10;

/** How often it looks for killed processes. */
const LOOK_MS = 500;

/** The disk outbox's own thread. It alone waits for the disk, and it delivers once the host has sent a plan. */
const options = workerData as ThreadOptions & { port: MessagePort };
const { path, leaseMs, port, signals } = options;
const clock = systemClock;
const keeper = createFileKeeper(options, randomUUID());
const turns = createTurns({ path, keeper, onDone: (done) => tell(done), onFailed: post, soon });
const alarm = createAlarm(clock, () => engine?.wake());
const upkeep = [
  setInterval(() => look((store) => store.lookAfter()), leaseMs / LOOKS),
  setInterval(
    () => keeper.isOpen && look((store) => store.lookForKilled()),
    Math.min(LOOK_MS, leaseMs / LOOKS),
  ),
];
let engine: ThreadEngine | undefined;
let snapshot: Snapshot | undefined;
/** What is to be reported to the host at the end of this tick, beside the state. */
let untold = nothing();
const reporter = createStatusReporter({ tell: postUntold, isUrgent, apartMs: APART_MS, clock });

port.on("message", (message: Message) => {
  if (message === "open") open();
  else if (message === "close") void close();
  else if (message === "end") end();
  else if (message === "tell attempts") engine?.tellAttempts();
  else if (message === "stop") engine?.stop();
  else if (message === "abort") engine?.abort();
  else if ("deliver" in message) deliver(message.deliver);
  else {
    engine?.wake();
    turns.take(message);
  }
});

function nothing(): { results: Done["results"]; dropped: Dropped[]; problems: Problem[] } {
  return { results: undefined, dropped: [], problems: [] };
}

function open(): void {
  try {
    const { results: _, ...kept } = keeper.attempt((store) => store.run([]));
    tell(kept);
    reporter.now();
  } catch (error) {
    post({ type: "failed", generation: 0, ...problemOf(error, path) });
  }
}

function deliver(plan: DeliveryPlan): void {
  const storage = {
    ...claimsThrough(turns.ask, { snapshot: () => snapshot as Snapshot, leaseMs }),
    circuits: circuitsThrough(turns.ask),
  };
  engine = createThreadEngine(plan, storage, { clock, onNews: () => tell() });
}

function soon(task: () => void): void {
  if (engine) engine.soon(task);
  else setImmediate(task);
}

function look(task: (store: Store) => TransactionOutcome): void {
  try {
    const { results: _, ...outcome } = keeper.attempt(task);
    tell(outcome);
    engine?.wake();
  } catch {
    // Appends and claims report what is wrong with the file.
  }
}

/** Reports to the host at the end of this tick at the earliest: claimed events are under way by then. */
function tell(done?: Omit<Done, "type">): void {
  if (done) {
    snapshot = done.snapshot;
    alarm.set(snapshot);
    if (done.results && untold.results) reporter.now();
    untold.results ??= done.results;
    untold.dropped.push(...done.dropped);
    untold.problems.push(...done.problems);
  }
  reporter.soon();
}

function isUrgent(): boolean {
  const { results, dropped, problems } = untold;
  return results !== undefined || dropped.length + problems.length > 0 || engine?.idle !== false;
}

function postUntold(): void {
  // If the file could not be read yet, the replies to the host's own requests say so.
  if (!snapshot) return;
  const { results, ...others } = untold;
  untold = nothing();
  const state = engine && { engine: engine.state() };
  post({ type: "done", snapshot, ...others, ...(results && { results }), ...state });
}

function post(reply: Reply): void {
  port.postMessage(reply);
  Atomics.add(signals, SIGNALS.replied, 1);
  Atomics.notify(signals, SIGNALS.replied);
}

async function close(): Promise<void> {
  await engine?.close();
  end();
}

function end(): void {
  for (const each of upkeep) clearInterval(each);
  alarm.stop();
  turns.end();
  reporter.now();
  keeper.close();
  port.close();
  Atomics.add(signals, SIGNALS.closed, 1);
  Atomics.notify(signals, SIGNALS.closed);
}
