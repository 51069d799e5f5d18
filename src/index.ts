/**
 * The package itself: `affiliate()`, the types of what it takes and gives, and the memory outbox.
 *
 * @module express-affiliate
 */
export { affiliate } from "./affiliate.js";
export type { Click } from "./conversion/click.js";
export type { EventKind, OutboxEvent } from "./conversion/events.js";
export type { Payment } from "./conversion/payment.js";
export type { Registration } from "./conversion/registration.js";
export type { Attribution } from "./conversion/visitor-ids.js";
export type { Logger } from "./journal/log.js";
export type { DropReason, EventNotice, Notices, SkipReason, Stats } from "./journal/notices.js";
export type { AffiliateOptions } from "./options.js";
export type {
  DeadLetter,
  DeadLetterQuery,
  DeadLetters,
  DeathReason,
  Decision,
} from "./outbox/dead-letters.js";
export { type MemoryOutboxOptions, memoryOutbox } from "./outbox/memory/memory-outbox.js";
export type { Outbox } from "./outbox/outbox.js";
export type { Person, PersonalEvent } from "./outbox/personal-data.js";
export type { AttributionInput } from "./request/attribution-input.js";
export type { OnClickOptions } from "./request/on-click.js";
export type { Attributed, RequestAffiliate } from "./request/request-affiliate.js";
export type { RequestSource } from "./request/request-source.js";
export type { WrapHandler } from "./request/wrap-handler.js";
export type { TrackingStatus } from "./service/answers.js";
export type { TrackingClient } from "./service/client.js";
export type { EndpointState } from "./service/endpoints.js";
export {
  AffiliateError,
  ArgumentError,
  NoAnswerError,
  OptionsError,
  OutboxError,
  TrackingApiError,
} from "./shared/errors.js";
export type { Receipt, TrackOptions } from "./track.js";
export type { Affiliate } from "./tracker.js";
