/**
 * For people who write an outbox of their own: the contract, and its tests.
 *
 * @module express-affiliate/outbox
 */
export type { Attribution, EventKind, OutboxEvent } from "./events.js";
export type {
  AddOutcome,
  DeadLetter,
  DeadLetterQuery,
  Death,
  DeathReason,
  Deliver,
  LiveEvent,
  Outbox,
  OutboxCounts,
  OutboxObserver,
  Verdict,
} from "./outbox/outbox.js";
export { type OutboxUnderTest, type TestRunner, testOutbox } from "./testing/index.js";
