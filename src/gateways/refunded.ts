import type { Refund, Sale } from "./told.js";

/** What all refunds of one payment come to. */
export interface Refunded {
  /** What went back, in major units of the payment's currency; disputes apart. */
  readonly amount: number;
  /** Whether nothing of the payment is left. */
  readonly isFull: boolean;
  /** Whether the customer has disputed it. */
  readonly isDisputed: boolean;
}

/**
 * Adds up what a gateway has told of one payment's refunds, in any order, and however often it has
 * told each: keep them all, and call this with all of them.
 */
export function refunded(payment: Sale["payment"], refunds: Iterable<Refund>): Refunded {
  const amounts = new Map<string, number>();
  let [soFar, isFull, isDisputed] = [0, false, false];
  for (const refund of refunds) {
    isDisputed ||= refund.isDispute;
    if (refund.isDispute) continue;
    if (refund.refundId !== undefined) amounts.set(refund.refundId, refund.amount ?? 0);
    soFar = Math.max(soFar, refund.refundedSoFar ?? 0);
    isFull ||= refund.isFull ?? false;
  }
  const sum = [...amounts.values()].reduce((total, amount) => total + amount, 0);
  // No currency has more than three decimals; the rest is binary noise.
  const amount = Number(Math.max(soFar, sum).toFixed(3));
  isFull ||= amount >= payment.leadValue;
  return { amount: isFull ? Math.max(amount, payment.leadValue) : amount, isFull, isDisputed };
}
