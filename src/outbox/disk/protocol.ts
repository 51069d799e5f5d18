import type { OutboxEvent } from "../../events.js";
import type { CircuitChange, StoredCircuits } from "../circuits.js";
import type { DeadLetter, DeadLetterFilter, DeadLetterQuery, DeadLetterSum } from "../dead-letters.js";
import type { CancelOutcome, Capacity, Claim, OutboxCounts, Verdict } from "../outbox.js";
import type { FoundEvent } from "../personal-data.js";
import type { DeliveryPlan, DeliveryReport } from "../remote.js";
import type { Urgency } from "../urgency.js";
import type { LeaseEpoch } from "./upkeep.js";

/** What the outbox's thread is started with. */
export interface ThreadOptions {
  readonly path: string;
  readonly engine: string;
  /** Names this thread, as the owner of claims and of the host's spool file. */
  readonly owner: string;
  /** The file of undici that the thread loads as it starts. Without it, the host's thread delivers. */
  readonly undici?: string | undefined;
  readonly maxBytes: number;
  readonly maxDeadLetters: number;
  readonly rememberMs: number;
  readonly leaseMs: number;
  /** Counters that the main thread waits for as it starts or ends: see `SIGNALS`. */
  readonly signals: Int32Array;
}

/** `replied` counts the replies, `closed` is 1 once the file is closed for good. */
export const SIGNALS = { replied: 0, closed: 1 } as const;

/** How many events a claim takes at most. */
export const CLAIMED_AT_ONCE = 256;

/** What is needed to find a claimed event again. */
export interface Claimed extends Pick<OutboxEvent, "id" | "destination" | "kind"> {
  readonly seq: number;
  /** The process that has claimed it. */
  readonly owner: string;
  /** Whether an attempt of another process's was already in doubt when it was claimed. */
  readonly interrupted: boolean;
}

export interface DiskClaim extends Claim, Pick<Claimed, "seq" | "owner"> {
  readonly urgency: Urgency;
  /** The number of the owner's lease epoch in which it was claimed. */
  readonly leaseEpoch: number;
}

/** What goes into one transaction. */
export interface Batch {
  readonly requests: readonly Request[];
  /** When a batch fails, all batches of its generation fail: a later event must not overtake an earlier one. */
  readonly generation: number;
}

/**
 * What the thread is sent.
 *
 * - `open`: open the file, and reply at once.
 * - `deliver`: deliver by this plan, beside the file.
 * - `tell attempts`: say when each attempt begins, from now on.
 * - `stop`: begin no attempt any more. `abort`: end those that are under way.
 * - `close`: end once all verdicts are stored.
 * - `end`: store what was sent, and end at once; what is under way is in doubt.
 */
export type Message = Batch | { readonly deliver: DeliveryPlan } | "open" | Order | "close" | "end";

/** What the thread's engine is told. */
export type Order = "tell attempts" | "stop" | "abort";

/** One thing that is asked of the thread. */
export type Request =
  | { readonly type: "append"; readonly event: OutboxEvent }
  | { readonly type: "claim"; readonly capacity: Capacity }
  | { readonly type: "settle"; readonly claimed: Claimed; readonly verdict: Verdict }
  | { readonly type: "list"; readonly query: DeadLetterQuery; readonly destination: number | undefined }
  | {
      readonly type: "sums" | "ids";
      readonly filter: DeadLetterFilter;
      readonly destination: number | undefined;
    }
  | { readonly type: "retried"; readonly filter: DeadLetterFilter; readonly destination: number | undefined }
  | { readonly type: "retry"; readonly letters: readonly Letter[] }
  | { readonly type: "discard"; readonly letter: Letter }
  | { readonly type: "cancel"; readonly destination: number; readonly id: string }
  | { readonly type: "page"; readonly destination: number | undefined; readonly from: PagePosition }
  | {
      readonly type: "erase";
      readonly destination: number;
      readonly found: readonly { readonly id: string; readonly seq: number }[];
    }
  | { readonly type: "hold" }
  | { readonly type: "circuits"; readonly destination: number }
  | ({ readonly type: "replace circuit" } & CircuitChange);

/** How far a search for a person's events has come. */
export interface PagePosition {
  readonly table: "scheduled" | "events" | "dead_letters";
  readonly after: number;
}

/** What is needed to find a dead letter; without a destination, those with its id of all destinations. */
export interface Letter {
  readonly id: string;
  readonly destination?: number | undefined;
}

/** What each is answered with. */
export interface Results {
  readonly append: "queued" | "duplicate" | "full";
  readonly claim: readonly DiskClaim[];
  /** Whether it had an effect: the event may be another process's by now. */
  readonly settle: boolean;
  readonly list: readonly DeadLetter[];
  readonly sums: readonly DeadLetterSum[];
  readonly ids: readonly string[];
  readonly retried: readonly Letter[];
  readonly retry: number;
  readonly discard: boolean;
  readonly cancel: CancelOutcome;
  readonly page: { readonly found: readonly FoundEvent[]; readonly next: PagePosition | undefined };
  /** How many events were removed. */
  readonly erase: number;
  /** How many payments waited. */
  readonly hold: number;
  readonly circuits: StoredCircuits;
  readonly "replace circuit": boolean;
}

export type Result = Results[Request["type"]];

/** A request, and what to call with its result. */
export interface Question {
  readonly request: Request;
  resolve(result: Result): void;
  reject(error: Error): void;
}

/** The request that stores the verdict of a claimed event. */
export function settling({ event, seq, owner, interrupted }: DiskClaim, verdict: Verdict) {
  const { id, destination, kind } = event;
  return { type: "settle", claimed: { seq, id, destination, kind, owner, interrupted }, verdict } as const;
}

/** The state after a transaction. */
export interface Snapshot {
  /** How many rows each destination has. */
  readonly counts: Readonly<Record<string, DestinationCounts>>;
  /** When the next event becomes ready; `null` where time alone changes nothing. */
  readonly nextReadyAt: number | null;
  readonly leaseEpoch: LeaseEpoch;
  /** Whether an event may have become ready or more urgent since this process last claimed. */
  readonly hasChanged: boolean;
}

/** How many rows a destination has. */
export type DestinationCounts = Required<Pick<OutboxCounts, "dead" | "byKind" | "scheduled">>;

export interface Dropped {
  readonly event: OutboxEvent;
  readonly reason: "full" | "visitor-full" | "dead-letters-full";
}

/** A batch was carried out. Also says what else has happened since the last reply. */
export interface Done {
  readonly type: "done";
  /** Missing where nothing was asked: the thread has delivered something, or looked after its file. */
  readonly results?: readonly Result[];
  readonly snapshot: Snapshot;
  readonly dropped: readonly Dropped[];
  /** Problems with the file that were solved. */
  readonly problems: readonly Problem[];
  /** Missing where the thread delivers nothing. */
  readonly delivery?: ThreadDelivery;
}

/** Delivery in the thread. */
export interface ThreadDelivery {
  /** Whether no attempt is under way, and no event that waits can be sent now. */
  readonly idle: boolean;
  /** Why claims and verdicts fail; missing while the file works. */
  readonly problem?: Problem | undefined;
  readonly report: DeliveryReport;
}

export interface Problem {
  readonly code: string;
  readonly message: string;
}

export interface Failed {
  readonly type: "failed";
  readonly generation: number;
  readonly code: string;
  readonly message: string;
}

export type Reply = Done | Failed;
