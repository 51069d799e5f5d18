import type { EventKind, OutboxEvent } from "../../conversion/events.js";
import type { Circuits } from "../circuits.js";
import type { Capacity, Claim, Verdict } from "../claim.js";
import type { StoredDeadLetters } from "../dead-letters.js";
import type { CancelOutcome } from "../outbox.js";
import type { PersonalStorage } from "../personal-data.js";
import type { Urgency } from "../urgency.js";
import type { AppendOutcome, AttemptOutcome } from "./append.js";
import type { CountRow, Counts } from "./counts.js";
import type { Evicted, OnDeath } from "./eviction.js";

/** Another process may have taken it over. */
export interface SqlClaim extends Claim {
  isHeld(): boolean;
}

/** Statements of one kind of database. */
export interface SqlDialect<C extends SqlClaim> {
  count(): Promise<readonly CountRow[]>;
  /** Stores all of these in one transaction or none, and says of each what became of it. */
  attempt(events: readonly OutboxEvent[]): Promise<readonly AttemptOutcome[]>;
  /** Known events that this report has stored, and no earlier one. */
  storedBy(events: readonly OutboxEvent[]): Promise<ReadonlySet<OutboxEvent>>;
  /** Whether the connection was lost: how far the request got is unknown. */
  isLost(error: unknown): boolean;
  /** In the host's own transaction. */
  enqueue(transaction: unknown, event: OutboxEvent): Promise<AppendOutcome>;
  claim(capacity: Capacity): Promise<readonly C[]>;
  settle(claim: C, verdict: Verdict): Promise<unknown>;
  /** The leases of events under way. */
  renew(): Promise<void>;
  /** Removes the oldest unclaimed event of an urgency that the new one will not wait for. */
  shedFor(coming: OutboxEvent, urgency: Urgency): Promise<OutboxEvent | undefined>;
  /** Removes a visitor's oldest unclaimed clicks, until at most so many are left. */
  shedClicks(event: OutboxEvent, most: number): Promise<readonly OutboxEvent[]>;
  readonly deadLetters: StoredDeadLetters;
  /** Removes so many at most. Ids stay known for as long as if they had been delivered. */
  evictOldest(destination: number, kind: EventKind, limit: number): Promise<readonly Evicted[]>;
  /** Requeues an `unconfirmed` event that was never sent. */
  reviveInterrupted(event: OutboxEvent): Promise<void>;
  readonly circuits: Circuits;
  /** Moves some scheduled payments that are due into the queue. Resolves to their number. */
  release(destination: number): Promise<number>;
  cancel(id: string, destination: number): Promise<CancelOutcome>;
  readonly personal: PersonalStorage;
  /** Of all destinations. */
  readonly holding: {
    /** For how long the last lease lasts; `null`: no process has claimed an event. */
    leasedForMs(): Promise<number | string | null>;
    /** Makes unconfirmed dead letters of the first payments that wait. Resolves to their number. */
    hold(limit: number): Promise<number>;
  };
  /** By which settings the server may lose commits, in words. */
  cautions(): Promise<readonly string[]>;
  /** Once a minute. */
  upkeep(): Promise<void>;
  /** Looks for a destination's events. Returns a function that ends that. */
  watch(wake: () => void, destination: number): () => unknown;
  /** Every call has ended. */
  close?(): void;
}

export interface SqlShell {
  readonly counts: Counts;
  /** Called for a new dead letter that is not counted yet. */
  readonly onDeath: OnDeath;
  /** There may be something to claim. */
  wake(): void;
}
