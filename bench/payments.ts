import type { Attribution, Payment } from "express-affiliate";

/** What is posted, and where, by those who do without this package. */
export const PATH = "/api/v1/tracking/lead/payment";
export const POST = { method: "POST", headers: { "content-type": "application/json" } } as const;

/** The nth payment, each of another visitor. */
export function payment(nth: number): Payment {
  return { paymentId: `order-${nth}`, customerEmail: `customer-${nth}@shop.example`, leadValue: 19.9 };
}

/** Who made the nth payment: ids as long as UUIDs are. */
export function visitor(nth: number): Required<Attribution> {
  const tail = `${nth}`.padStart(12, "0");
  return { clickId: `6f1d4f8e-97c4-4a60-b7a1-${tail}`, sessionId: `0b0f3f5c-2b1e-4d7f-9a44-${tail}` };
}

/**
 * How many requests the package has under way to one endpoint: three quarters of its `concurrency`,
 * which is 8 by default. If one endpoint is silent, the others have the rest.
 */
export const SOCKETS_OF_AN_ENDPOINT = 6;
