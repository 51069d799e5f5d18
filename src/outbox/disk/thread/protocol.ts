import type { Problem } from "../file/sqlite.js";
import type { DiskClaim, Dropped, Request, Result, Snapshot } from "../store/requests.js";
import type { StoreOptions } from "../store/store.js";

export interface ThreadOptions extends StoreOptions {
  readonly path: string;
  readonly engine: string;
  /** The outbox's name as the owner of claims and of its spool file. */
  readonly owner: string;
  /** Of a further thread: what its process has under way. */
  readonly inherited: readonly DiskClaim[] | undefined;
  /** Whose events it is about; see `Scope`. */
  readonly clientId?: number | undefined;
  /** The main thread waits for these while the thread starts or ends. */
  readonly signals: Int32Array;
}

/** `replied` counts the replies. `closed` is 1 once the file is closed for good. */
export const SIGNALS = { replied: 0, closed: 1 } as const;

/** The requests of one transaction. */
export interface Batch {
  readonly requests: readonly Request[];
  /** If one batch fails, its generation does: no later event is then stored before an earlier. */
  readonly generation: number;
}

/**
 * Sent to the thread:
 *
 * - `open`: open the file, and reply at once.
 * - a client id: be about its events, from here on.
 * - a batch: carry it out in one transaction, and reply. Of a generation that has failed: neither.
 * - `close`: end.
 * - `end`: the process ends; first store what it has in memory.
 */
export type Message = Batch | number | "open" | "close" | "end";

export interface Question {
  readonly request: Request;
  resolve(result: Result): void;
  reject(error: Error): void;
}

/** A batch was carried out. Without `results`, the thread looked after its file. */
export interface Done {
  readonly type: "done";
  readonly results?: readonly Result[];
  readonly snapshot: Snapshot;
  readonly dropped: readonly Dropped[];
  /** Problems with the file that were solved. */
  readonly problems: readonly Problem[];
}

export interface Failed extends Problem {
  readonly type: "failed";
  readonly generation: number;
}

export type Reply = Done | Failed;
