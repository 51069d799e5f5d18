import type { Attribution } from "express-affiliate";

interface Order {
  readonly id: string;
  readonly email: string;
  readonly total: number;
  readonly currency: string;
}

export interface Names {
  readonly payments: { stripe(invoice: object): { paymentId: string; leadValue: number } };
  readonly invoice: object;
  readonly user: { readonly email: string; readonly affiliate: Attribution };
  readonly orders: { complete(id: string): Promise<Order> };
  readonly rates: { convert(amount: number, from: string, to: string): Promise<number> };
}
