/**
 * For people who write an outbox of their own: the contract, the builder, and the contract's tests.
 * The types of events and dead letters are in `express-affiliate`.
 *
 * @module express-affiliate/outbox
 */

export { visitorOf } from "./conversion/events.js";
export type { Circuit, CircuitChange, Circuits, StoredCircuits } from "./outbox/circuits.js";
export type { Capacity, Claim, Deliver, History, Lane, Verdict } from "./outbox/claim.js";
export { UNTRIED } from "./outbox/claim.js";
export { type ClaimStep, claimStepsOf, type Head, headsOf } from "./outbox/claim-steps.js";
export type { ScheduledCount } from "./outbox/counts.js";
export { createOutbox, type OutboxParts, type StorageNotices } from "./outbox/create-outbox.js";
export { type Death, deadLetterOf } from "./outbox/dead-letters.js";
export type { AddOutcome, Outbox, OutboxCounts, OutboxObserver, QueuedOfKind } from "./outbox/outbox.js";
export { CLICKS_OF_A_VISITOR } from "./outbox/outbox.js";
export { type FoundEvent, type PersonalStorage, personalEventOf } from "./outbox/personal-data.js";
export { firstToEvict, kindsBelow } from "./outbox/shedding.js";
export { type Urgency, urgenciesOf } from "./outbox/urgency.js";
export { type Endpoint, endpointOf } from "./service/endpoints.js";
export { type OutboxUnderTest, type TestRunner, testOutbox } from "./testing/contract/index.js";
