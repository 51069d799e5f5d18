import type { Amount } from "../shared/money.js";
import { amount, email, hostId, time } from "./fields.js";
import { type HostId, type KindRow, UNBOUNDED } from "./kind-row.js";
import type { Attribution } from "./visitor-ids.js";

/** A payment that happened (§2.3). Invalid input gives the receipt `rejected`. */
export interface Payment {
  /**
   * The host's own order or charge id, at most 256 characters; also an ObjectId, UUID or Long. A second report with it is a
   * duplicate. Not sent.
   */
  readonly paymentId: HostId;
  /** The customer's e-mail address, at most 320 characters. */
  readonly customerEmail: string;
  /**
   * A decimal amount in major units (19.9, not 1990): a number, a decimal text as databases give
   * for NUMERIC, or an object whose text is a plain decimal, such as Prisma's `Decimal`. Zero is
   * skipped; a negative amount and a bigint are refused.
   */
  readonly leadValue: Amount;
  /**
   * Not sent before this time, at most 400 days ahead: `tracker.cancelPayment(paymentId)` withdraws
   * it until then. Default, and if the time has come: sent at once.
   */
  readonly notBefore?: Date | null | undefined;
  /** The service has no field for it: convert `leadValue` to the currency of your programme. */
  readonly currency?: never;
  /** It is called `leadValue`. */
  readonly amount?: never;
}

export type PaymentData = Attribution & {
  readonly paymentId: string;
  readonly customerEmail: string;
  readonly leadValue: number;
  /** Not sent before this time, in milliseconds since the epoch. */
  readonly notBefore?: number | undefined;
};

// Chosen: longer than any shop takes goods back. A mistake in the unit of a date is farther off.
const FARTHEST_MS = 400 * 24 * 60 * 60 * 1_000;

export const payment = {
  endpoints: ["lead/payment"],
  ifMaybeTaken: "hold",
  needsVisitorId: "unless-by-email",
  remembered: { ...UNBOUNDED, shareOfSpace: 0.6 },
  emailField: "customerEmail",
  fields: { paymentId: hostId, customerEmail: email, leadValue: amount, notBefore: time },
  key({ paymentId, leadValue, notBefore = 0 }, now) {
    if (leadValue === 0) return { invalid: "it is zero", skip: "zero" };
    const isTooFar = notBefore > now + FARTHEST_MS;
    return isTooFar ? { invalid: "`notBefore`: must be at most 400 days from now" } : paymentKey(paymentId);
  },
} as const satisfies KindRow<PaymentData>;

export function paymentKey(paymentId: string): string {
  return `payment ${paymentId}`;
}
