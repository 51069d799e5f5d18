import { randomUUID } from "node:crypto";
import { type MessagePort, workerData } from "node:worker_threads";
import { type OpenFile, openFile, setAside } from "./file.js";
import { type Batch, type Notice, type Reply, SIGNALS, type ThreadOptions } from "./protocol.js";
import { salvage } from "./salvage.js";
import { kindOf, loadEngine } from "./sqlite.js";
import { createStore, type Outcome, type Store } from "./store.js";
import { troubleOf } from "./trouble.js";
import { LOOKS } from "./upkeep.js";

/** The outbox's own thread: the only one that waits for the disk. */
const options = workerData as ThreadOptions & { port: MessagePort };
const { path, leaseMs, port, signals } = options;
const owner = randomUUID();
const upkeep = setInterval(() => say(tryTo((store) => store.lookAfter())), leaseMs / LOOKS);
let open: (OpenFile & { readonly store: Store }) | undefined;
/** Files that are not at their place any more, and what is to be said of them, until what they hold is saved. */
const lost: (Pick<OpenFile, "db" | "close"> & Notice)[] = [];
/** What the main thread has not been told yet. */
let notices: Notice[] = [];
/** What was sent before one of it failed, and is not looked at any more. */
let refused = -1;

port.on("message", (batch: Batch | "close") => {
  if (batch === "close") {
    clearInterval(upkeep);
    saveAtTheEnd();
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
    const { results, unreadable, ...rest } = withoutDamage(task);
    for (const id of unreadable) {
      notices.push({
        code: "ERR_AFFILIATE_DISK_DAMAGED",
        message: `diskOutbox: an event in ${path} cannot be read, and is not sent; it is in the table "unreadable": id ${id}`,
      });
    }
    const untold = notices;
    notices = [];
    return { type: "done", ...rest, notices: untold, ...(batch && { results }) };
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
    if (isMine) replaceDamaged();
    return task(current().store);
  }
}

function replaceDamaged(): void {
  const place = setAside(path);
  const db = loadEngine(options.engine).open(place);
  lost.push({
    db,
    close: () => db.close(),
    code: "ERR_AFFILIATE_DISK_DAMAGED",
    message: `diskOutbox: ${path} was damaged; it is now ${place}, and what could be read of it is in a new one`,
  });
}

function current(): { readonly store: Store } {
  if (open && !open.isCurrent()) lose(open);
  if (!open) {
    const file = openFile(path, options);
    open = { ...file, store: createStore(file.db, owner, options) };
  }
  for (let file = lost[0]; file; file = lost[0]) {
    const { events, deadLetters } = salvage(file.db, open.store);
    lost.shift();
    close(file);
    const { code, message } = file;
    notices.push({ code, message: `${message}: events ${events}, dead letters ${deadLetters}` });
  }
  return open;
}

/** Keeps a file open that is not at its place any more: what it holds can still be read. */
function lose({ db, close: closeFile, removeLog }: OpenFile): void {
  open = undefined;
  lost.push({
    db,
    close: closeFile,
    code: "ERR_AFFILIATE_DISK_REPLACED",
    message: `diskOutbox: ${path} was deleted or replaced while it was in use; what was in it is in the file that is there now`,
  });
  removeLog();
}

/** A file that was deleted a moment ago is gone with this thread. */
function saveAtTheEnd(): void {
  try {
    if (open && (lost.length > 0 || !open.isCurrent())) current();
  } catch {
    // What is left cannot be saved.
  }
}

function letGo(): void {
  if (!open) return;
  let isCurrent = true;
  try {
    isCurrent = open.isCurrent();
  } catch {
    // Nothing can be read there.
  }
  if (isCurrent) {
    close(open);
    open = undefined;
  } else lose(open);
}

function close(file: Pick<OpenFile, "close">): void {
  try {
    file.close();
  } catch {
    // It is of no use any more either way.
  }
}
