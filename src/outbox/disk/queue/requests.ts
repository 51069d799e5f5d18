import type { OutboxEvent } from "../../../conversion/events.js";
import type { CircuitChange, StoredCircuits } from "../../circuits.js";
import type { Capacity, Claim, Verdict } from "../../claim.js";
import type { DeadLetter, DeadLetterFilter, DeadLetterQuery, DeadLetterSum } from "../../dead-letters.js";
import type { CancelOutcome, OutboxObserver } from "../../outbox.js";
import type { FoundEvent } from "../../personal-data.js";
import type { Urgency } from "../../urgency.js";
import type { DestinationCounts } from "./counts.js";
import type { LeaseEpoch } from "./lease-epoch.js";

/** What finds a claimed event again. */
export interface Claimed extends Pick<OutboxEvent, "id" | "destination" | "kind"> {
  readonly seq: number;
  /** The process that has claimed it. */
  readonly owner: string;
  /** Whether another process's attempt may have sent it before this claim. */
  readonly interrupted: boolean;
}

export interface DiskClaim extends Claim, Pick<Claimed, "seq" | "owner"> {
  readonly urgency: Urgency;
  /** The number of the owner's lease epoch in which it was claimed. */
  readonly leaseEpoch: number;
}

/** What the host asks the thread to do with the file. */
export type Request =
  | { readonly type: "append"; readonly event: OutboxEvent }
  | { readonly type: "claim"; readonly capacity: Capacity }
  | { readonly type: "settle"; readonly claimed: Claimed; readonly verdict: Verdict }
  | { readonly type: "list"; readonly query: DeadLetterQuery; readonly destination: number | undefined }
  | {
      readonly type: "sums" | "ids" | "retried";
      readonly filter: DeadLetterFilter;
      readonly destination: number | undefined;
    }
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

export type RequestOf<Type extends Request["type"]> = Request & { readonly type: Type };

/** How far a search for a person's events has come. */
export interface PagePosition {
  readonly table: "scheduled" | "events" | "dead_letters";
  readonly after: number;
}

/** What finds a dead letter; without a destination, the letters with this id of all of them. */
export interface Letter {
  readonly id: string;
  readonly destination?: number | undefined;
}

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

/** Asks the thread, or the file itself. */
export type Ask = <R extends Request>(request: R) => Promise<Results[R["type"]]>;

export function settling({ event, seq, owner, interrupted }: DiskClaim, verdict: Verdict) {
  const { id, destination, kind } = event;
  return { type: "settle", claimed: { seq, id, destination, kind, owner, interrupted }, verdict } as const;
}

/** The state after a transaction. */
export interface Snapshot {
  readonly counts: Readonly<Record<string, DestinationCounts>>;
  /** When the next event becomes ready; `null` if time alone changes nothing. */
  readonly nextReadyAt: number | null;
  readonly leaseEpoch: LeaseEpoch;
}

export interface Dropped {
  readonly event: OutboxEvent;
  readonly reason: Parameters<OutboxObserver["dropped"]>[1];
}
