import type { Outbox } from "../../src/outbox/outbox.js";

export type Creates = () => Outbox | Promise<Outbox>;

/** The outbox to test, in several states. */
export interface OutboxUnderTest {
  /** Makes a new, empty outbox. Called once or more for each test, which closes it. */
  readonly create: Creates;
  /** The same, full after some 1,000 events. */
  readonly createSmall: Creates;
  /** For durable outboxes: opens one more on the last one's storage, as another process does. */
  readonly reopen?: Creates;
  /** How many dead letters those of `createSmall` keep: a few. */
  readonly maxDeadLetters: number;
  /** How many bytes these take at most, roughly: at least 50,000. */
  readonly maxDeadLetterBytes: number;
  /** Cuts the last created outbox off from its store: calls fail or hang. Needs `restore`. */
  readonly cutOff?: () => void | Promise<void>;
  /** Undoes `cutOff`; the store has kept its events. */
  readonly restore?: () => void | Promise<void>;
  /**
   * How long a claim lasts that its process does not renew, in milliseconds: less than 10,000. With
   * it, `cutOff` must not cut off the outboxes of `reopen`. Without it, no test of leases runs.
   */
  readonly leaseMs?: number;
}

/** One that other processes open too. */
export type Lasting = Required<Pick<OutboxUnderTest, "create" | "reopen">>;
