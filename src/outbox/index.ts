/**
 * For people who write an outbox of their own: the contract, the builder, and the contract's tests. The types of events and
 * dead letters are in `express-affiliate`.
 *
 * @module express-affiliate/outbox
 */

export { visitorOf } from "../events.js";
export { ENDPOINTS, type Endpoint, endpointOf } from "../service/endpoints.js";
export { type OutboxUnderTest, type TestRunner, testOutbox } from "../testing/contract/index.js";
export type { Circuit, CircuitChange, Circuits, StoredCircuits } from "./circuits.js";
export { type ClaimStep, claimStepsOf, type Head, headsOf } from "./claim-steps.js";
export { createOutbox, type OutboxParts, type StorageNotices } from "./create-outbox.js";
export { type Death, deadLetterOf } from "./dead-letters.js";
export type {
  AddOutcome,
  Capacity,
  Claim,
  Deliver,
  History,
  Lane,
  Outbox,
  OutboxCounts,
  OutboxObserver,
  QueuedOfKind,
  Verdict,
} from "./outbox.js";
export { CLICKS_OF_A_VISITOR, UNTRIED } from "./outbox.js";
export { firstToGiveWay, kindsBelow } from "./shedding.js";
export { URGENCIES, type Urgency, urgenciesOf } from "./urgency.js";
