import type { Snapshot } from "./metadata.js";

/** A payment that the gateway has taken. */
export interface Sale {
  /** `"payment"`. */
  readonly type: "payment";
  /** For `tracker.trackPayment`. Its id is the one that each refund of it has. */
  readonly payment: {
    readonly paymentId: string;
    /** In major units of `currency`. Never zero. */
    readonly leadValue: number;
    /** As the gateway has it. Many events have none: your own user's comes first. */
    readonly customerEmail?: string;
  };
  /** ISO 4217, in capitals. */
  readonly currency: string;
  /** The gateway's id of the customer. */
  readonly customerId?: string;
  /** What `metadata` wrote. Your own user's comes first. */
  readonly attribution?: Snapshot;
}

/** Money that went back to the customer. What the gateway does not say is absent. */
export interface Refund {
  /** `"refund"`. */
  readonly type: "refund";
  /** That of the sale. */
  readonly paymentId: string;
  /** Of this one refund or dispute, if the gateway says it. */
  readonly refundId?: string;
  /** Of this one refund or dispute, in major units. */
  readonly amount?: number;
  /** Of all refunds of the payment up to this one, in major units; disputes apart. */
  readonly refundedSoFar?: number;
  /** Whether nothing of the payment is left. */
  readonly isFull?: boolean;
  /** A chargeback, which may be won back. */
  readonly isDispute: boolean;
  /** ISO 4217, in capitals. */
  readonly currency: string;
  /** The sale, if the gateway tells of both at once: report it first. */
  readonly sale?: Sale;
}

/** What a gateway tells: `undefined` is nothing of ours. */
export type Told = Sale | Refund | undefined;

/** Without what is undefined: it is absent, also from the object's keys. */
export function known<Shape>(fields: { [Name in keyof Shape]: Shape[Name] | undefined }): Shape {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Shape;
}

export function refundOf(
  refund: { [Name in keyof Omit<Refund, "type">]?: Refund[Name] | undefined } & {
    paymentId: string;
    currency: string;
  },
): Refund {
  return known<Refund>({ type: "refund", isDispute: false, ...refund });
}

/** What all refunds of one payment come to. */
export interface Refunded {
  /** What went back, in major units; disputes apart. At most the payment's own amount. */
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
    soFar = Math.max(soFar, refund.refundedSoFar ?? 0);
    if (refund.isDispute) continue;
    if (refund.refundId !== undefined) amounts.set(refund.refundId, refund.amount ?? 0);
    isFull ||= refund.isFull ?? false;
  }
  const sum = [...amounts.values()].reduce((total, amount) => total + amount, 0);
  // No currency has more than three decimals; the rest is binary noise.
  const amount = Number(Math.max(soFar, sum).toFixed(3));
  isFull ||= amount >= payment.leadValue;
  return { amount: isFull ? payment.leadValue : amount, isFull, isDisputed };
}
