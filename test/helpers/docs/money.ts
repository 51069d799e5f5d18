import type { Attribution } from "express-affiliate";

export interface Names {
  readonly payments: { stripe(invoice: object): { paymentId: string; leadValue: number } };
  readonly invoice: object;
  readonly user: { readonly email: string; readonly affiliate: Attribution };
}
