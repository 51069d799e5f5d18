import { randomUUID } from "node:crypto";
import {
  closeSync,
  existsSync,
  fstatSync,
  fsyncSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
} from "node:fs";
import { join, resolve } from "node:path";
import { holdAll, hostRuns } from "../../outbox/dead-letters.js";
import { openExistingFile } from "../../outbox/disk/file/file.js";
import { createOwnerLocks } from "../../outbox/disk/file/owner-locks.js";
import { type Database, failureOf, findEngine, problemOf, whenFree } from "../../outbox/disk/file/sqlite.js";
import { createTakeIn, SETTLE_MS, type TakeIn } from "../../outbox/disk/spool/take-in.js";
import { type Call, callsThrough, storageOf } from "../../outbox/disk/store/calls.js";
import { createStore, type Store } from "../../outbox/disk/store/store.js";
import { REMEMBER_MS } from "../../outbox/option-types.js";
import { eraseIn, personalDataIn } from "../../outbox/personal-data.js";
import { countsOf } from "../../outbox/queue/counts.js";
import { Scope } from "../../outbox/queue/database.js";
import { inBatches } from "../../shared/batch.js";
import { systemClock } from "../../shared/clock.js";
import { OutboxError } from "../../shared/errors.js";
import { peerPlaces } from "../../shared/peer.js";
import { sleep } from "../../shared/real-timers.js";
import type { OpenOutbox } from "./actions.js";

// More than a host waits between two looks.
const PAUSE_MS = 5;
const TOGETHER = 20;

// The host's limits are unknown here, and not needed: a retried event takes its dead letter's
// bytes. An id that is erased is kept for as long as a host's is by default.
const NO_LIMITS = { maxBytes: 2 ** 42, maxDeadLetters: 2 ** 42, rememberMs: REMEMBER_MS, leaseMs: 2 ** 42 };

/**
 * Opens a directory's outbox for writing, even to look: a process that may only read would leave
 * SQLite's log behind. Creates, migrates and replaces nothing. As a host does when it starts, it
 * stores what killed processes have left beside the file. Otherwise only actions change the outbox.
 *
 * @throws OutboxError
 */
export function openDisk(directory: string, clientId?: number): OpenOutbox {
  const folder = resolve(directory);
  const path = join(folder, "outbox.db");
  const engine = findEngine(peerPlaces());
  const locks = createOwnerLocks(path, { engine, owner: randomUUID() });
  const scope = new Scope(clientId);
  const store = createStore(randomUUID(), { ...NO_LIMITS, scope });
  const file = opened();
  store.use(file);
  const takenIn = takeInAll(createTakeIn(path, locks, systemClock), store);
  // Each call says what is wrong.
  takenIn.catch(() => {});

  function opened() {
    try {
      return openExistingFile(path, { ...NO_LIMITS, engine });
    } catch (error) {
      throw inWords(error, path);
    }
  }

  async function onceTakenIn<Result>(act: () => Result): Promise<Awaited<Result>> {
    try {
      await takenIn;
      return await act();
    } catch (error) {
      throw inWords(error, path);
    }
  }

  const calls = callsThrough(
    inBatches((some: readonly Call[]) => {
      const pass = onceTakenIn(() => store.run(some));
      // Hosts ask for the lock every few milliseconds: without a pause they would get it by chance.
      return pass.then(({ results }) => sleep(PAUSE_MS, results));
    }, TOGETHER),
  );
  const { deadLetters, personal } = storageOf(calls);

  return {
    name: "disk",
    together: TOGETHER,
    async look() {
      const { counts } = await onceTakenIn(() => store.run([{ name: "count", args: [] }]));
      const damaged = readdirSync(folder).filter((name) => /^outbox\.db\.damaged-.*Z$/.test(name));
      const trouble = `a file was damaged, and the events in it are not sent: ${damaged.join(", ")}; inspect it, then remove it`;
      return { ...countsOf(counts, scope), ...(damaged.length > 0 && { trouble }) };
    },
    deadLetters,
    personalData: (person) => personalDataIn(personal, person),
    erase: (person) => eraseIn(personal, person),
    async hold() {
      if (locks.running() > 0) throw hostRuns();
      await calls.queueAllDue();
      return holdAll(calls.hold);
    },
    last: (limit) => calls.last(limit),
    // To begin a transaction is no write: SQLite allows it in a file that it can only read.
    checkWrites: () => onceTakenIn(() => whenFree(() => file.db.exec("delete from events where 0 = 1"))),
    async backup(target) {
      await takenIn;
      return copyInto(file.db, resolve(target));
    },
    async close() {
      await takenIn.catch(() => {});
      file.close();
    },
  };
}

async function takeInAll(takeIn: TakeIn, store: Store): Promise<void> {
  for (let isSettled = false; ; isSettled = true) {
    while (takeIn.finds()) {
      const { problems } = await takeIn.step(store);
      // A host reports them, unless this process removes the file first.
      for (const { message } of problems) console.error(message);
    }
    if (isSettled || !takeIn.isSettling) return;
    await sleep(SETTLE_MS);
  }
}

/** Returns the copy's bytes. A copy that is not whole yet is called `….part`. */
export function copyInto(db: Database, target: string): number {
  const part = `${target}.part`;
  // For this user alone: SQLite writes into an empty file as well, and would make one that others
  // can read. Of two commands, one alone can make it.
  const copy = openSync(part, "wx", 0o600);
  try {
    if (existsSync(target))
      throw Object.assign(new Error(`EEXIST: there is a file ${target} already`), { code: "EEXIST" });
    db.prepare("vacuum into ?").run(part);
    fsyncSync(copy);
    renameSync(part, target);
    return fstatSync(copy).size;
  } catch (error) {
    rmSync(part, { force: true });
    throw error;
  } finally {
    closeSync(copy);
  }
}

function inWords(error: unknown, path: string): OutboxError {
  if (failureOf(error) !== "damaged") return problemOf(error, path);
  return new OutboxError(
    "ERR_AFFILIATE_DISK_DAMAGED",
    `diskOutbox: ${path} is damaged; the host's process renames it at its next use, and starts a new file`,
  );
}
