/**
 * For people who write an outbox of their own: the contract, and its tests.
 *
 * @module express-affiliate/outbox
 */

export type { Attribution, EventKind, OutboxEvent } from "../events.js";
export { ENDPOINTS, type Endpoint, endpointOf } from "../service/endpoints.js";
export { type OutboxUnderTest, type TestRunner, testOutbox } from "../testing/contract/index.js";
export type {
  AddOutcome,
  Capacity,
  Claim,
  DeadLetter,
  DeadLetterQuery,
  Death,
  DeathReason,
  Deliver,
  History,
  Lane,
  Outbox,
  OutboxCounts,
  OutboxObserver,
  Verdict,
} from "./outbox.js";
export { CLICKS_OF_A_VISITOR, UNTRIED } from "./outbox.js";
