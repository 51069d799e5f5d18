import type { Outbox } from "../../outbox/outbox.js";

type Creates = () => Outbox | Promise<Outbox>;

/** The outbox that is put to the test, and in what states it can be had. */
export interface OutboxUnderTest {
  /** A new outbox with nothing in it. Called once or more for each test, which closes what it gets. */
  readonly create: Creates;
  /** The same, full after 1,000 events or so. Without it, the tests of bounds are left out. */
  readonly createSmall?: Creates;
  /**
   * One more outbox over the storage of the last that was created, as the next process would open it, or another beside
   * it. For outboxes that are durable.
   */
  readonly reopen?: Creates;
  /** Whether outboxes have `handOver`, and tell what waits for other destinations. Default `false`. */
  readonly handsOver?: boolean;
  /** How many dead letters the outboxes of `createSmall` keep: a few. Without it, nothing is said about those that are too many. */
  readonly maxDeadLetters?: number;
  /** How many bytes these take at most, by a rough count: at least 50,000. Without it, nothing is said about large ones. */
  readonly maxDeadLetterBytes?: number;
  /** Cuts the last outbox that was created off from its store: calls fail, or are not answered. Has `restore` beside it. */
  readonly cutOff?: () => void | Promise<void>;
  /** Undoes `cutOff`; the store has kept what it held. */
  readonly restore?: () => void | Promise<void>;
}

/** What vitest, jest and `node:test` have in common. */
export interface TestRunner {
  /** Groups tests. */
  describe(name: string, body: () => void): unknown;
  /** A test: it fails where `body` rejects. */
  it(name: string, body: () => Promise<void>): unknown;
}
