import type { OutboxEvent } from "../../../conversion/events.js";
import type { Endpoint } from "../../../service/endpoints.js";
import type { Capacity, Claim, Verdict } from "../../claim.js";
import type { DeadLetter, DeadLetterFilter, DeadLetterQuery, DeadLetterSum } from "../../dead-letters.js";
import { isHeldSince, type Moment } from "../../lease.js";
import type { CancelOutcome, OutboxObserver, Unanswered } from "../../outbox.js";
import type { PersonalEvent } from "../../personal-data.js";
import type { CountRow } from "../../queue/counts.js";
import type { LastEvent } from "../../queue/last-events.js";
import type { QueueClaim } from "../../queue/leases.js";
import type { PersonalPage } from "../../queue/personal.js";

/** A claim as it is sent between threads. */
export interface DiskClaim extends Claim, Pick<QueueClaim, "seq" | "visitor" | "endpoint" | "dueAt"> {
  /** The number of the lease epoch in which it was claimed. */
  readonly leaseEpoch: number;
}

/** What a further thread of this process takes on from the one before. */
export interface Inherited {
  /** What has no verdict yet: the attempts go on in the host's thread. */
  readonly underWay: readonly DiskClaim[];
  /** The number of its first lease epoch. */
  readonly epoch: number;
}

/** Whether a thread of this process has ended before. */
export function isOfFurtherThread(inherited: Inherited | undefined): boolean {
  return (inherited?.epoch ?? 0) > 0;
}

/** What finds a claimed event again. */
export type Claimed = Omit<DiskClaim, "isHeld" | "lane" | "leaseEpoch">;

/** What the host asks the thread to do with the file, and what it resolves to. */
interface Requests {
  append: [{ event: OutboxEvent }, "queued" | "duplicate" | "full"];
  claim: [{ capacity: Capacity }, readonly DiskClaim[]];
  /**
   * `isRepeated`: it was asked before, and the answer was lost. `isHeld`: the host may still send it.
   * Resolves to whether it had an effect: the event may be another process's by now.
   */
  settle: [{ claimed: Claimed; verdict: Verdict; isRepeated: boolean; isHeld: boolean }, boolean];
  list: [{ query?: DeadLetterQuery | undefined }, readonly DeadLetter[]];
  sums: [{ filter?: DeadLetterFilter | undefined }, readonly DeadLetterSum[]];
  ids: [{ filter?: DeadLetterFilter | undefined }, readonly string[]];
  retried: [{ filter?: DeadLetterFilter | undefined }, readonly string[]];
  "one letter": [{ id: string }, readonly string[]];
  retry: [{ ids: readonly string[] }, number];
  discard: [{ id: string }, boolean];
  cancel: [{ id: string }, CancelOutcome];
  page: [{ after: number }, PersonalPage];
  /** Resolves to how many events were removed. */
  erase: [{ found: readonly PersonalEvent[] }, number];
  count: [unknown, undefined];
  "release all": [unknown, undefined];
  /** Resolves to how many payments waited. */
  hold: [{ limit: number }, number];
  last: [{ limit: number }, readonly LastEvent[]];
  unanswered: [{ endpoint: Endpoint }, Unanswered];
}

export type RequestOf<Type extends keyof Requests> = { readonly type: Type } & Readonly<Requests[Type][0]>;

export type Request = { [Type in keyof Requests]: RequestOf<Type> }[keyof Requests];

export type Results = { readonly [Type in keyof Requests]: Requests[Type][1] };

export type Result = Results[Request["type"]];

/** Asks the thread, or the file itself. */
export type Ask = <R extends Request>(request: R) => Promise<Results[R["type"]]>;

/** A period of unbroken renewals. No other process has taken over what was claimed in it. */
export interface LeaseEpoch {
  readonly number: number;
  /** When the lease was last renewed. */
  readonly renewedAt: Moment;
}

/** Whether what was claimed in that epoch is still this process's. */
export function isStillOwned(claimedIn: number, { number, renewedAt }: LeaseEpoch, leaseMs: number): boolean {
  return claimedIn === number && isHeldSince(renewedAt, leaseMs);
}

/** The state after a transaction. */
export interface Snapshot {
  /** Of all client ids. */
  readonly counts: readonly CountRow[];
  readonly leaseEpoch: LeaseEpoch;
}

export interface Dropped {
  readonly event: OutboxEvent;
  readonly reason: Parameters<OutboxObserver["dropped"]>[1];
}
