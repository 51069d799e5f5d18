import { join } from "node:path";
import type { OutboxEvent } from "express-affiliate";
import type { Capacity, Verdict } from "express-affiliate/outbox";
import { countsOf } from "../../src/outbox/disk/counts.js";
import { type OpenFile, openFile } from "../../src/outbox/disk/file.js";
import { type DiskClaim, type Dropped, settling } from "../../src/outbox/disk/protocol.js";
import { findEngine } from "../../src/outbox/disk/sqlite.js";
import { createStore, type Store } from "../../src/outbox/disk/store.js";
import { ENDPOINTS } from "../../src/service/endpoints.js";
import { DESTINATION } from "../../src/testing/contract/samples.js";

const MIB = 1024 * 1024;

export const engine = findEngine([import.meta.url]);

/** An outbox's file as its thread sees it, here without the thread. */
export interface Disk extends OpenFile {
  readonly store: Store;
  readonly path: string;
  /** Claims events of any endpoint. */
  claim(limit: number): DiskClaim[];
  settle(claim: DiskClaim, verdict: Verdict): readonly Dropped[];
  append(...events: readonly OutboxEvent[]): unknown[];
  /** What there is of one destination. Default: of all. */
  counts(destination?: number): ReturnType<typeof countsOf>;
}

export function openDisk(
  directory: string,
  options: {
    owner?: string;
    /** Whose events `claim` claims. */
    destination?: number;
    maxBytes?: number;
    maxDeadLetters?: number;
    rememberMs?: number;
    leaseMs?: number;
    /** The wall clock. The one that is never set goes with it. */
    time?: () => number;
    monotonic?: () => number;
    /** Whose locks the operating system has dropped. */
    ended?: ReadonlySet<string>;
  } = {},
): Disk {
  const {
    owner = "me",
    destination = DESTINATION,
    maxBytes = 64 * MIB,
    maxDeadLetters = 1_000,
    rememberMs = 60_000,
    leaseMs = 20_000,
    time = () => Date.now(),
    monotonic = time,
    ended = new Set(),
  } = options;
  const path = join(directory, "outbox.db");
  const file = openFile(path, { engine, maxBytes });
  // What survives a crash of the machine is not what these tests are about, and each commit would wait for the disk.
  file.db.exec("pragma synchronous = off");
  const store = createStore(file.db, owner, {
    ...{ maxBytes, maxDeadLetters, rememberMs, leaseMs },
    locks: { hasEnded: (other) => ended.has(other), removeEnded() {} },
    clock: { now: time, monotonic },
  });
  return {
    ...file,
    path,
    store,
    claim: (limit) =>
      store.run([{ type: "claim", capacity: allOf(limit, destination) }]).results[0] as DiskClaim[],
    settle: (claim, verdict) => store.run([settling(claim, verdict)]).dropped,
    counts: (destination) => countsOf(store.run([]).snapshot, destination),
    append: (...events) => [...store.run(events.map((event) => ({ type: "append", event }))).results],
  };
}

function allOf(limit: number, destination: number): Capacity {
  return { destination, limit, lanes: ENDPOINTS.map((endpoint) => ({ endpoint, limit })) };
}
