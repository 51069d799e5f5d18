import type { OutboxEvent } from "../../../conversion/events.js";
import type { Endpoint } from "../../../service/endpoints.js";
import type { Capacity, Claim, Verdict } from "../../claim.js";
import type { DeadLetter, DeadLetterFilter, DeadLetterQuery, DeadLetterSum } from "../../dead-letters.js";
import type { Moment } from "../../lease.js";
import type { CancelOutcome, OutboxObserver, Unanswered } from "../../outbox.js";
import type { PersonalEvent } from "../../personal-data.js";
import type { CountRow } from "../../queue/counts.js";
import type { LastEvent } from "../../queue/last-events.js";
import type { QueueClaim } from "../../queue/leases.js";
import type { PersonalPage } from "../../queue/personal.js";

/** A claim as it is sent between threads. */
export interface DiskClaim
  extends Claim,
    Pick<QueueClaim, "seq" | "visitor" | "endpoint" | "dueAt" | "isAsked"> {}

/** What finds a claimed event again. */
type Claimed = Omit<DiskClaim, "isHeld" | "lane">;

/** What the host asks the thread to do with the file, and what it resolves to. */
interface Requests {
  append: [{ event: OutboxEvent }, "queued" | "duplicate" | "full"];
  claim: [{ capacity: Capacity }, readonly DiskClaim[]];
  /** Resolves to whether it had an effect: the event may be another process's by now. */
  settle: [{ claimed: Claimed; verdict: Verdict }, boolean];
  list: [{ query?: DeadLetterQuery | undefined }, readonly DeadLetter[]];
  sums: [{ filter?: DeadLetterFilter | undefined }, readonly DeadLetterSum[]];
  ids: [{ filter?: DeadLetterFilter | undefined }, readonly string[]];
  retried: [{ filter?: DeadLetterFilter | undefined }, readonly string[]];
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

/** The state after a transaction. */
export interface Snapshot {
  /** Of all client ids. */
  readonly counts: readonly CountRow[];
  /** By the ids of claimed events: when the lease was taken or renewed. */
  readonly leases: ReadonlyMap<string, Moment>;
}

export interface Dropped {
  readonly event: OutboxEvent;
  readonly reason: Parameters<OutboxObserver["dropped"]>[1];
}
