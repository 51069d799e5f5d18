import { randomUUID } from "node:crypto";
import { type MessagePort, workerData } from "node:worker_threads";
import { createAlarm } from "../outbox/disk/alarm.js";
import { claimsThrough } from "../outbox/disk/asked-claims.js";
import { createFileKeeper } from "../outbox/disk/file-keeper.js";
import { problemOf } from "../outbox/disk/problems.js";
import {
  type Done,
  type Dropped,
  type Message,
  type Notice,
  type Reply,
  SIGNALS,
  type Snapshot,
  type ThreadOptions,
} from "../outbox/disk/protocol.js";
import type { Outcome, Store } from "../outbox/disk/store.js";
import { createTurns } from "../outbox/disk/turns.js";
import { LOOKS } from "../outbox/disk/upkeep.js";
import { systemClock } from "../shared/clock.js";
import { clearInterval, setImmediate, setInterval } from "../shared/real-timers.js";
import type { DeliveryPlan } from "./plan.js";
import { createTelling } from "./telling.js";
import type { ThreadEngine } from "./thread-engine.js";

/** While events are under way, how far apart the host hears of what has become of others. */
const APART_MS = 10;

/** How far apart it looks for other processes that were killed. */
const LOOK_MS = 500;

/** The disk outbox's own thread: the only one that waits for the disk, and the one that delivers where the host has sent a plan. */
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
/** What the host is to be told at the end of this turn, but for how things stand. */
let untold = nothing();
const telling = createTelling({ tell: postUntold, isUrgent, apartMs: APART_MS, clock });

port.on("message", (message: Message) => {
  if (message === "open") open();
  else if (message === "close") void close();
  else if (message === "end") end();
  else if (message === "tell attempts") engine?.tellAttempts();
  else if (message === "stop") engine?.stop();
  else if (message === "abort") engine?.abort();
  else if ("deliver" in message) void deliver(message.deliver as DeliveryPlan);
  else {
    engine?.wake();
    turns.take(message);
  }
});

function nothing(): { results: Done["results"]; dropped: Dropped[]; notices: Notice[] } {
  return { results: undefined, dropped: [], notices: [] };
}

function open(): void {
  try {
    const { results: _, ...kept } = keeper.attempt((store) => store.run([]));
    tell(kept);
    telling.now();
  } catch (error) {
    post({ type: "failed", generation: 0, ...problemOf(error, path) });
  }
}

async function deliver(plan: DeliveryPlan): Promise<void> {
  // It is in the same script, and takes effect before the next message. The host waits for the file, and not for this.
  const { createThreadEngine } = await import("./thread-engine.js");
  const storage = claimsThrough(turns.ask, { snapshot: () => snapshot as Snapshot, leaseMs });
  engine = createThreadEngine(plan, storage, { clock, onNews: () => tell() });
}

function soon(task: () => void): void {
  if (engine) engine.soon(task);
  else setImmediate(task);
}

function look(task: (store: Store) => Outcome): void {
  try {
    const { results: _, ...outcome } = keeper.attempt(task);
    tell(outcome);
    engine?.wake();
  } catch {
    // What is wrong with the file is told by storing and claiming.
  }
}

/** Tells the host of it, at the end of this turn at the earliest: what has been claimed is under way by then. */
function tell(done?: Omit<Done, "type">): void {
  if (done) {
    snapshot = done.snapshot;
    alarm.set(snapshot);
    if (done.results && untold.results) telling.now();
    untold.results ??= done.results;
    untold.dropped.push(...done.dropped);
    untold.notices.push(...done.notices);
  }
  telling.soon();
}

function isUrgent(): boolean {
  const { results, dropped, notices } = untold;
  return results !== undefined || dropped.length + notices.length > 0 || engine?.idle !== false;
}

function postUntold(): void {
  // Before the file could be read, the host hears of that by what it has itself asked.
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
  telling.now();
  keeper.close();
  port.close();
  Atomics.add(signals, SIGNALS.closed, 1);
  Atomics.notify(signals, SIGNALS.closed);
}
