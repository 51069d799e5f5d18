import { randomUUID } from "node:crypto";
import { type MessagePort, workerData } from "node:worker_threads";
import { createFileKeeper } from "./file-keeper.js";
import { type Batch, type Reply, SIGNALS, type ThreadOptions } from "./protocol.js";
import type { Outcome, Store } from "./store.js";
import { troubleOf } from "./trouble.js";
import { LOOKS } from "./upkeep.js";

/** The outbox's own thread: the only one that waits for the disk. */
const options = workerData as ThreadOptions & { port: MessagePort };
const { path, leaseMs, port, signals } = options;
const keeper = createFileKeeper(options, randomUUID());
const upkeep = setInterval(() => say(tryTo((store) => store.lookAfter())), leaseMs / LOOKS);
/** What was sent before one of it failed, and is not looked at any more. */
let refused = -1;

port.on("message", (batch: Batch | "close") => {
  if (batch === "close") {
    clearInterval(upkeep);
    keeper.close();
    port.close();
    signal(SIGNALS.closed);
  } else if (batch.generation !== refused) {
    const reply = tryTo((store) => store.run(batch.requests), batch);
    if (reply.type === "failed") refused = batch.generation;
    say(reply);
  }
});

function say(reply: Reply): void {
  port.postMessage(reply);
  signal(SIGNALS.replied);
}

function signal(which: number): void {
  Atomics.add(signals, which, 1);
  Atomics.notify(signals, which);
}

function tryTo(task: (store: Store) => Outcome, batch?: Batch): Reply {
  try {
    const { results, ...rest } = keeper.attempt(task);
    return { type: "done", ...rest, ...(batch && { results }) };
  } catch (error) {
    return { type: "failed", ...(batch && { generation: batch.generation }), ...troubleOf(error, path) };
  }
}
