import type { Request, RequestHandler } from "express";
import type { Attributed, Attribution } from "express-affiliate";

interface User {
  readonly id: number;
  readonly email: string;
  readonly affiliate: Attribution;
}

export interface Names {
  readonly completeCheckout: RequestHandler;
  readonly orders: {
    pay(id: string): Promise<{ readonly id: string; readonly email: string; readonly total: number }>;
  };
  readonly users: { update(id: number, row: { affiliate: Attribution }): Promise<void> };
  readonly user: User;
  readonly invoice: { readonly id: string; readonly total: number };
  readonly req: Attributed<Request>;
}
