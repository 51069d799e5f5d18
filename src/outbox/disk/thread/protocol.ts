import type { DeliveryPlan, DeliveryReport } from "../../remote.js";
import type { Problem } from "../file/sqlite.js";
import type { Dropped, Request, Result, Snapshot } from "../queue/requests.js";
import type { StoreOptions } from "../queue/store.js";

export interface ThreadOptions extends StoreOptions {
  readonly path: string;
  readonly engine: string;
  /** The thread's name as the owner of claims and of the host's spool file. */
  readonly owner: string;
  /** The thread loads undici from here. Without it, the host's thread delivers. */
  readonly undici?: string | undefined;
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
 * - `deliver`: deliver by this plan.
 * - `report attempts`: report when each attempt begins, from now on.
 * - `stop`: begin no more attempts. `abort`: end those that are under way.
 * - `close`: end once all verdicts are stored.
 * - `end`: store what was sent, and end at once. The attempts under way are then in doubt.
 */
export type Message = Batch | { readonly deliver: DeliveryPlan } | "open" | Order | "close" | "end";

export type Order = "report attempts" | "stop" | "abort";

export interface Question {
  readonly request: Request;
  resolve(result: Result): void;
  reject(error: Error): void;
}

/** A batch was carried out. Without `results`, the thread delivered, or looked after its file. */
export interface Done {
  readonly type: "done";
  readonly results?: readonly Result[];
  readonly snapshot: Snapshot;
  readonly dropped: readonly Dropped[];
  /** Problems with the file that were solved. */
  readonly problems: readonly Problem[];
  /** Absent if the thread does not deliver. */
  readonly delivery?: {
    /** Whether no attempt is under way, and no event that waits can be sent now. */
    readonly idle: boolean;
    /** Why claims and verdicts fail, if they do. */
    readonly problem?: Problem | undefined;
    readonly report: DeliveryReport;
  };
}

export interface Failed extends Problem {
  readonly type: "failed";
  readonly generation: number;
}

export type Reply = Done | Failed;
