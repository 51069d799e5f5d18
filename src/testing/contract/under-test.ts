import type { Outbox } from "../../outbox/outbox.js";

type Creates = () => Outbox | Promise<Outbox>;

/** The outbox to test, and the states that it can be made in. */
export interface OutboxUnderTest {
  /** Makes a new, empty outbox. Called once or more for each test, which closes it. */
  readonly create: Creates;
  /** The same, full after 1,000 events or so. Without it, the tests of bounds are left out. */
  readonly createSmall?: Creates;
  /** Opens one more outbox on the storage of the last one, as a next process would, or another process at the same time. For durable outboxes. */
  readonly reopen?: Creates;
  /** Whether outboxes have `circuits`. Default `false`. */
  readonly hasCircuits?: boolean;
  /** Whether outboxes have `cancel`, and so take scheduled payments. Default `false`. */
  readonly schedules?: boolean;
  /** Whether outboxes have `personalData` and `erase`. Default `false`. */
  readonly findsPersons?: boolean;
  /** How many dead letters the outboxes of `createSmall` keep: a few. Without it, the tests of this bound are left out. */
  readonly maxDeadLetters?: number;
  /** How many bytes these take at most, by a rough count: at least 50,000. Without it, the tests of this bound are left out. */
  readonly maxDeadLetterBytes?: number;
  /** Cuts the last outbox that was created off from its store: calls fail, or are not answered. Has `restore` beside it. */
  readonly cutOff?: () => void | Promise<void>;
  /** Undoes `cutOff`; the store has kept its events. */
  readonly restore?: () => void | Promise<void>;
}

/** What vitest, jest and `node:test` have in common. */
export interface TestRunner {
  /** Groups tests. */
  describe(name: string, body: () => void): unknown;
  /** A test: it fails where `body` rejects. */
  it(name: string, body: () => Promise<void>): unknown;
}
