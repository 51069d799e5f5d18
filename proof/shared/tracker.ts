import {
  type Affiliate,
  type AffiliateOptions,
  type Attribution,
  affiliate,
  type EventKind,
  type Receipt,
} from "express-affiliate";
import { idempotencyKeys } from "../../src/service/idempotency.js";

const API_KEY = "proof-key";

/** A tracker of a proof's host. It logs nothing, unless the options say so. */
export function trackerOf(baseUrl: string, options: Partial<AffiliateOptions> = {}): Affiliate {
  return affiliate({
    baseUrl,
    clientId: 1,
    apiKey: API_KEY,
    logger: { warn() {}, error() {} },
    ...options,
  });
}

/** Reports a visitor's nth event. A service reads its number back: see `Asked`. */
export function trackNth(
  tracker: Affiliate,
  kind: EventKind,
  visitor: string,
  nth: number,
  attribution: Attribution = { sessionId: visitor },
): Promise<Receipt> {
  const [id, email] = [`${visitor} ${nth}`, "ann@shop.example"];
  switch (kind) {
    case "click":
      return tracker.trackClick({ affiliateReference: "ALICE", source: `${nth}` }, attribution);
    case "registration":
      return tracker.trackRegistration({ email, customerId: id, customerName: `${nth}` }, attribution);
    case "payment":
      return tracker.trackPayment({ paymentId: id, customerEmail: email, leadValue: nth }, attribution);
  }
}

const derived = idempotencyKeys(API_KEY);

/** The `Idempotency-Key` by which a proof's service knows the event of that id. */
export const keyOf = (id: string): string => derived({ id, data: {} } as Parameters<typeof derived>[0]);
