import { join } from "node:path";
import type { OutboxEvent } from "../../src/events.js";
import { type OpenFile, openFile } from "../../src/outbox/disk/file.js";
import type { DiskClaim, Dropped, Request } from "../../src/outbox/disk/protocol.js";
import { findEngine } from "../../src/outbox/disk/sqlite.js";
import { createStore, type Store } from "../../src/outbox/disk/store.js";
import type { Verdict } from "../../src/outbox/outbox.js";

const MIB = 1024 * 1024;

export const engine = findEngine([import.meta.url]);

/** An outbox's file as its thread sees it, here without the thread. */
export interface Disk extends OpenFile {
  readonly store: Store;
  readonly path: string;
  claim(limit: number): DiskClaim[];
  settle(claim: DiskClaim, verdict: Verdict): readonly Dropped[];
  append(...events: readonly OutboxEvent[]): unknown[];
}

export function openDisk(
  directory: string,
  { owner = "me", maxBytes = 64 * MIB, maxDeadLetters = 1_000, rememberMs = 60_000 } = {},
): Disk {
  const path = join(directory, "outbox.db");
  const file = openFile(path, { engine, maxBytes });
  const store = createStore(file.db, owner, { maxBytes, maxDeadLetters, rememberMs });
  return {
    ...file,
    path,
    store,
    claim: (limit) => store.run([{ do: "claim", limit }]).results[0] as DiskClaim[],
    settle: (claim, verdict) => store.run([settling(claim, verdict)]).dropped,
    append: (...events) => [...store.run(events.map((event) => ({ do: "append", event }))).results],
  };
}

function settling({ event: { id }, seq, owner }: DiskClaim, verdict: Verdict): Request {
  return { do: "settle", claimed: { seq, id, owner }, verdict };
}
