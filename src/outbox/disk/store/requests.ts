import type { OutboxEvent } from "../../../conversion/events.js";
import type { CircuitChange, StoredCircuits } from "../../circuits.js";
import type { Capacity, Claim, Verdict } from "../../claim.js";
import type { OutboxCounts } from "../../counts.js";
import type { DeadLetter, DeadLetterFilter, DeadLetterQuery, DeadLetterSum } from "../../dead-letters.js";
import type { CancelOutcome, OutboxObserver } from "../../outbox.js";
import type { PersonalEvent } from "../../personal-data.js";
import type { Letter } from "../../queue/dead-letters.js";
import type { LastEvent } from "../../queue/last-events.js";
import type { QueueClaim } from "../../queue/leases.js";
import type { PersonalPage } from "../../queue/personal.js";
import type { LeaseEpoch } from "./lease-epoch.js";

/** A claim as it is sent between threads. */
export interface DiskClaim extends Claim, Pick<QueueClaim, "seq" | "visitor" | "endpoint" | "dueAt"> {
  /** Under which name it was claimed. */
  readonly owner: string;
  /** The number of the owner's lease epoch in which it was claimed. */
  readonly leaseEpoch: number;
}

/** What finds a claimed event again. */
export type Claimed = Omit<DiskClaim, "isHeld" | "lane" | "owner" | "leaseEpoch">;

type Filtered = { readonly filter: DeadLetterFilter; readonly destination: number | undefined };

/** What the host asks the thread to do with the file. */
export type Request =
  | { readonly type: "append"; readonly event: OutboxEvent }
  | { readonly type: "claim"; readonly capacity: Capacity }
  | {
      readonly type: "settle";
      readonly claimed: Claimed;
      readonly verdict: Verdict;
      /** Whether it was asked before, and the answer was lost. */
      readonly isRepeated: boolean;
      /** Whether the host may still send it. */
      readonly isHeld: boolean;
    }
  | { readonly type: "list"; readonly query: DeadLetterQuery; readonly destination: number | undefined }
  | ({ readonly type: "sums" | "ids" | "retried" } & Filtered)
  | { readonly type: "one letter"; readonly id: string; readonly destination: number | undefined }
  | { readonly type: "retry"; readonly letters: readonly Letter[] }
  | { readonly type: "discard"; readonly id: string; readonly destination: number | undefined }
  | { readonly type: "cancel" | "reported at"; readonly destination: number; readonly id: string }
  | { readonly type: "page"; readonly destination: number | undefined; readonly after: number }
  | { readonly type: "erase"; readonly destination: number; readonly found: readonly PersonalEvent[] }
  | { readonly type: "release all" }
  | { readonly type: "hold"; readonly limit: number }
  | { readonly type: "last"; readonly limit: number }
  | { readonly type: "circuits"; readonly destination: number }
  | ({ readonly type: "replace circuit" } & CircuitChange);

export type RequestOf<Type extends Request["type"]> = Request & { readonly type: Type };

export interface Results {
  readonly append: "queued" | "duplicate" | "full";
  readonly claim: readonly DiskClaim[];
  /** Whether it had an effect: the event may be another process's by now. */
  readonly settle: boolean;
  readonly list: readonly DeadLetter[];
  readonly sums: readonly DeadLetterSum[];
  readonly ids: readonly string[];
  readonly retried: readonly Letter[];
  readonly "one letter": readonly Letter[];
  readonly retry: number;
  readonly discard: boolean;
  readonly cancel: CancelOutcome;
  readonly "reported at": number | undefined;
  readonly page: PersonalPage;
  /** How many events were removed. */
  readonly erase: number;
  readonly "release all": undefined;
  /** How many payments waited. */
  readonly hold: number;
  readonly last: readonly LastEvent[];
  readonly circuits: StoredCircuits;
  readonly "replace circuit": boolean;
}

export type Result = Results[Request["type"]];

/** Asks the thread, or the file itself. */
export type Ask = <R extends Request>(request: R) => Promise<Results[R["type"]]>;

/** What there is, without what waits in memory. */
export type StoredCounts = Omit<OutboxCounts, "trouble">;

/** The state after a transaction. */
export interface Snapshot {
  /** Of all destinations together, and of each. */
  readonly counts: { readonly all: StoredCounts; readonly of: Readonly<Record<string, StoredCounts>> };
  readonly leaseEpoch: LeaseEpoch;
}

export interface Dropped {
  readonly event: OutboxEvent;
  readonly reason: Parameters<OutboxObserver["dropped"]>[1];
}
