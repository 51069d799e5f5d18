/**
 * The package itself: `affiliate()`, the types of what it takes and gives, and the memory outbox.
 *
 * @module express-affiliate
 */
export { affiliate } from "./affiliate.js";
export type { Attribution, EventKind, OutboxEvent } from "./events.js";
export type { Click, Payment, Registration } from "./inputs.js";
export type {
  DropReason,
  EndpointState,
  EventNotice,
  Logger,
  Notices,
  PauseReason,
  PauseScope,
  SkipReason,
  Stats,
} from "./journal/journal.js";
export type { AffiliateOptions, DeliverySettings } from "./options.js";
export type {
  DeadLetter,
  DeadLetterFilter,
  DeadLetterQuery,
  DeadLetters,
  DeathReason,
} from "./outbox/dead-letters.js";
export { type MemoryOutboxOptions, memoryOutbox } from "./outbox/memory/memory-outbox.js";
export type { CancelOutcome } from "./outbox/outbox.js";
export type { Person, PersonalEvent } from "./outbox/personal-data.js";
export type { AttributionInput } from "./request/attribution-input.js";
export type { CookieSettings } from "./request/first-party-cookie.js";
export type { KeepClickIdOptions } from "./request/keep-click-id.js";
export type { OnClickOptions } from "./request/on-click.js";
export type { RequestSource } from "./request/request-source.js";
export type { Attributed, RequestAffiliate } from "./request/visitor.js";
export type { WrapHandler } from "./request/wrap-handler.js";
export type {
  ClickAnswer,
  PaymentAnswer,
  RegistrationAnswer,
  RegistrationLeadAnswer,
  TrackingStatus,
} from "./service/answers.js";
export type {
  ClickRequest,
  PaymentLeadRequest,
  RegistrationLeadRequest,
  RegistrationRequest,
} from "./service/calls.js";
export type { CallOptions, TrackingClient } from "./service/client.js";
export {
  AffiliateError,
  ArgumentError,
  NoAnswerError,
  OptionsError,
  OutboxError,
  TrackingApiError,
} from "./shared/errors.js";
export type { Amount } from "./shared/money.js";
export type { CloseOptions, FlushOptions } from "./shutdown.js";
export type { Receipt } from "./track.js";
export type { Affiliate, TrackOptions } from "./tracker.js";
