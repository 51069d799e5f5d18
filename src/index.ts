/**
 * The package itself: `affiliate()`, the types of what it takes and gives, and the memory outbox.
 *
 * @module express-affiliate
 */
export { type Affiliate, affiliate, type TrackOptions } from "./affiliate.js";
export type { Attributed, RequestAffiliate } from "./attribution.js";
export type { AttributionInput, Json } from "./attribution-input.js";
export type { OnClickOptions } from "./clicks.js";
export type {
  CallOptions,
  ClickAnswer,
  ClickRequest,
  PaymentAnswer,
  PaymentLeadRequest,
  RegistrationAnswer,
  RegistrationLeadAnswer,
  RegistrationLeadRequest,
  RegistrationRequest,
  TrackingClient,
  TrackingStatus,
} from "./client.js";
export type { WrapHandler } from "./conversions.js";
export type { PauseReason } from "./delivery/endpoint-health.js";
export type { Endpoint } from "./endpoints.js";
export {
  AffiliateError,
  ArgumentError,
  NoAnswerError,
  OptionsError,
  OutboxError,
  TrackingApiError,
} from "./errors.js";
export type { Attribution, Click, EventKind, OutboxEvent, Payment, Registration } from "./events.js";
export type {
  DropReason,
  EndpointState,
  EventNotice,
  Logger,
  Notices,
  PauseScope,
  SkipReason,
  Stats,
} from "./journal.js";
export type { CloseOptions, FlushOptions } from "./lifecycle.js";
export type { Amount } from "./money.js";
export type { AffiliateOptions, DeliverySettings } from "./options.js";
export { type MemoryOutboxOptions, memoryOutbox } from "./outbox/memory.js";
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
} from "./outbox/outbox.js";
export type { HeadersLike, RequestSource } from "./request-source.js";
export type { Receipt } from "./tracker.js";
