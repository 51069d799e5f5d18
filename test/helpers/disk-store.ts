import { closeSync, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import type { EventKind, OutboxEvent } from "express-affiliate";
import { onTestFinished } from "vitest";
import { type OpenFile, openFile } from "../../src/outbox/disk/file/file.js";
import { findEngine } from "../../src/outbox/disk/file/sqlite.js";
import {
  type Call,
  type Calls,
  callsThrough,
  type DiskClaim,
  settledOf,
} from "../../src/outbox/disk/store/calls.js";
import type { Dropped } from "../../src/outbox/disk/store/space.js";
import { createStore, type Store, type TransactionOutcome } from "../../src/outbox/disk/store/store.js";
import type { Verdict } from "../../src/outbox/outbox.js";
import { countsOf } from "../../src/outbox/queue/counts.js";
import { Scope } from "../../src/outbox/queue/database.js";
import { DESTINATION, sample } from "../contract/samples.js";
import { capacityOf } from "./deliver.js";
import { scratchDirectory } from "./scratch.js";

const MIB = 1024 * 1024;

export const engine = findEngine([import.meta.url]);

/** An outbox's file as its thread sees it, here without the thread. */
export interface Disk extends OpenFile {
  readonly store: Store;
  readonly path: string;
  /** Each in a transaction of its own. */
  readonly calls: Calls;
  /** In one transaction. */
  run(...calls: readonly Call[]): Promise<TransactionOutcome>;
  /** Claims events of any endpoint. */
  claim(limit: number): Promise<DiskClaim[]>;
  settle(claim: DiskClaim, verdict: Verdict): Promise<readonly Dropped[]>;
  append(...events: readonly OutboxEvent[]): Promise<unknown[]>;
  /** What there is of one client id. Default: of all. */
  counts(clientId?: number): Promise<ReturnType<typeof countsOf>>;
}

interface Options {
  owner?: string;
  /** Whose events it is about. */
  clientId?: number;
  maxBytes?: number;
  maxDeadLetters?: number;
  rememberMs?: number;
  leaseMs?: number;
  /** The wall clock. The one that is never set goes with it. */
  time?: () => number;
  monotonic?: () => number;
  /** Whose locks the operating system has dropped. */
  ended?: ReadonlySet<string>;
  inherited?: readonly DiskClaim[] | undefined;
  onStatement?: (text: string) => void;
}

/** A file that is closed when the test has finished. */
export function diskOf(options: Options = {}, directory = scratchDirectory()): Disk {
  const disk = openDisk(directory, options);
  onTestFinished(() => disk.close());
  return disk;
}

/** The same file in several processes, by their names. */
export function disksOf<Owners extends readonly string[]>(
  owners: readonly [...Owners],
  options: Options = {},
): { readonly [Owner in keyof Owners]: Disk } {
  const directory = scratchDirectory();
  const disks = owners.map((owner) => diskOf({ ...options, owner }, directory));
  return disks as { readonly [Owner in keyof Owners]: Disk };
}

export const DELIVERED: Verdict = { type: "delivered" };
export const REJECTED: Verdict = { type: "dead", reason: "rejected", attempts: 1 };

export const someOf = (kind: EventKind, number: number) => Array.from({ length: number }, () => sample(kind));

export const idsOf = (claims: readonly DiskClaim[]) => claims.map(({ event: { id } }) => id);

export const settling = (claim: DiskClaim, verdict: Verdict): Call => ({
  name: "settle",
  args: [settledOf(claim), verdict],
});

export const appending = (event: OutboxEvent): Call => ({ name: "append", args: [event] });

/** Claims all that can be claimed, and settles it in this way. */
export async function settleAll(disk: Disk, verdict: Verdict): Promise<Dropped[]> {
  const dropped: Dropped[] = [];
  for (let claims = await disk.claim(200); claims.length > 0; claims = await disk.claim(200)) {
    const outcome = await disk.run(...claims.map((claim) => settling(claim, verdict)));
    dropped.push(...outcome.dropped);
  }
  return dropped;
}

/** Makes rubbish of so many bytes of a file, from a place on. */
export function overwrite(path: string, at: number, length: number): void {
  const file = openSync(path, "r+");
  writeSync(file, Buffer.alloc(length, "rubbish"), 0, length, at);
  closeSync(file);
}

/** It is open until it is closed. */
export function openDisk(directory: string, options: Options = {}): Disk {
  const {
    owner = "me",
    clientId = DESTINATION,
    maxBytes = 64 * MIB,
    maxDeadLetters = 1_000,
    rememberMs = 60_000,
    leaseMs = 20_000,
    time = () => Date.now(),
    monotonic = time,
    ended = new Set(),
    inherited,
    onStatement = () => {},
  } = options;
  const path = join(directory, "outbox.db");
  const file = openFile(path, { engine, maxBytes });
  // What survives a crash of the machine is not what these tests are about, and each commit would
  // wait for the disk.
  file.db.exec("pragma synchronous = off");
  const store = createStore(owner, {
    ...{ maxBytes, maxDeadLetters, rememberMs, leaseMs, onStatement, scope: new Scope(clientId) },
    locks: { stateOf: (other) => (ended.has(other) ? "ended" : "running"), removeEnded() {} },
    clock: { now: time, monotonic },
    inherited,
  });
  store.use(file);
  const run = (...calls: readonly Call[]) => store.run(calls);
  const calls = callsThrough(async (call) => (await run(call)).results[0]);
  return {
    ...file,
    path,
    store,
    run,
    calls,
    claim: (limit) => calls.claim(capacityOf(limit)),
    settle: async (claim, verdict) => (await run(settling(claim, verdict))).dropped,
    counts: async (wanted) => countsOf((await run()).counts, new Scope(wanted)),
    append: async (...events) => [...(await run(...events.map(appending))).results],
  };
}
