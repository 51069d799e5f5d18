import { randomUUID } from "node:crypto";
import { type MessagePort, workerData } from "node:worker_threads";
import { type OpenFile, openFile, setAside } from "./file.js";
import { type Batch, type Reply, SIGNALS, type ThreadOptions } from "./protocol.js";
import { kindOf } from "./sqlite.js";
import { createStore, type Outcome, type Store } from "./store.js";
import { troubleOf } from "./trouble.js";
import { LOOKS } from "./upkeep.js";

/** The outbox's own thread: the only one that waits for the disk. */
const options = workerData as ThreadOptions & { port: MessagePort };
const { path, leaseMs, port, signals } = options;
const owner = randomUUID();
const upkeep = setInterval(() => say(tryTo((store) => store.lookAfter())), leaseMs / LOOKS);
let open: (OpenFile & { readonly store: Store }) | undefined;
/** Where a damaged file was put, until the main thread has been told. */
let place: string | undefined;
/** What was sent before one of it failed, and is not looked at any more. */
let refused = -1;

port.on("message", (batch: Batch | "close") => {
  if (batch === "close") {
    clearInterval(upkeep);
    letGo();
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
    const { results, ...rest } = withoutDamage(task);
    const notice = place === undefined ? {} : { setAside: place };
    place = undefined;
    return { type: "done", ...rest, ...notice, ...(batch && { results }) };
  } catch (error) {
    // Opened anew at the next attempt: a connection whose disk failed may not see that the disk works again.
    letGo();
    return { type: "failed", ...(batch && { generation: batch.generation }), ...troubleOf(error, path) };
  }
}

/** Where the file is damaged, sets it aside and begins a new one: it cannot be written, and what comes now must be. */
function withoutDamage(task: (store: Store) => Outcome): Outcome {
  try {
    return task(current().store);
  } catch (error) {
    if (kindOf(error) !== "damaged") throw error;
    const isMine = open?.isCurrent() ?? true;
    letGo();
    // Another process may have been faster.
    if (isMine) place = setAside(path);
    return task(current().store);
  }
}

function current(): { readonly store: Store } {
  if (open && !open.isCurrent()) letGo();
  if (!open) {
    const file = openFile(path, options);
    open = { ...file, store: createStore(file.db, owner, options) };
  }
  return open;
}

function letGo(): void {
  try {
    open?.close();
  } catch {
    // It is of no use any more either way.
  }
  open = undefined;
}
