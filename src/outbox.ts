/**
 * For people who write an outbox of their own: the contract, the builder, and the contract's tests. The types of events and
 * dead letters are in `express-affiliate`.
 *
 * @module express-affiliate/outbox
 */

export { visitorOf } from "./events.js";
export type { Circuit, CircuitChange, Circuits, StoredCircuits } from "./outbox/circuits.js";
export { type ClaimStep, claimStepsOf, type Head, headsOf } from "./outbox/claim-steps.js";
export type { ScheduledCount } from "./outbox/counts.js";
export { createOutbox, type OutboxParts, type StorageNotices } from "./outbox/create-outbox.js";
export { type Death, deadLetterOf } from "./outbox/dead-letters.js";
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
} from "./outbox/outbox.js";
export { CLICKS_OF_A_VISITOR, UNTRIED } from "./outbox/outbox.js";
export { type FoundEvent, type PersonalStorage, personalEventOf } from "./outbox/personal-data.js";
export { firstToGiveWay, kindsBelow } from "./outbox/shedding.js";
export { URGENCIES, type Urgency, urgenciesOf } from "./outbox/urgency.js";
export { ENDPOINTS, type Endpoint, endpointOf } from "./service/endpoints.js";
export { type OutboxUnderTest, type TestRunner, testOutbox } from "./testing/contract/index.js";
