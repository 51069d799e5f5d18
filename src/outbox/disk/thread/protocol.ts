import type { Problem } from "../file/sqlite.js";
import type { Call } from "../store/calls.js";
import type { StoreOptions, TransactionOutcome } from "../store/store.js";

export interface ThreadOptions extends StoreOptions {
  readonly path: string;
  readonly engine: string;
  /** The outbox's name as the owner of claims and of its spool file. */
  readonly owner: string;
  /** Whose events it is about; see `Scope`. */
  readonly clientId?: number | undefined;
  /** The main thread waits for these while the thread starts or ends. */
  readonly signals: Int32Array;
}

/** `replied` counts the replies. `closed` is 1 once the file is closed for good. */
export const SIGNALS = { replied: 0, closed: 1 } as const;

/** The calls of one transaction. */
export interface Batch {
  readonly calls: readonly Call[];
  /** If one batch fails, its generation does: no later event is then stored before an earlier. */
  readonly generation: number;
}

/**
 * Sent to the thread:
 *
 * - a batch: carry it out, and reply. Of a generation that has failed: neither. A host that closes or
 *   exits sends several at once.
 * - a client id: be about its events, from here on.
 * - `close`: end. By then, all attempts have ended.
 * - an exit: give back all claims except the `begun` ones, and end.
 */
export type Message = Batch | number | "close" | Exit;

/** The process exits. Requests of these events may have left. */
export interface Exit {
  readonly begun: readonly string[];
}

/** `done`: the calls were carried out. `looked`: the thread has opened, or looked after, its file. */
export interface Done extends TransactionOutcome {
  readonly type: "done" | "looked";
}

/** `failed`: a batch, or the start of the first thread. */
export type Reply = Done | (Problem & { readonly type: "failed" });
