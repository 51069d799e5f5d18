import type { Affiliate } from "express-affiliate";

/** Reports a payment. Those with different ids are different visitors', unless a session is given. */
export function pay(tracker: Affiliate, paymentId: string | number = 1, sessionId = `s${paymentId}`) {
  return tracker.trackPayment({ paymentId, customerEmail: "ada@shop.example", leadValue: 1 }, { sessionId });
}
