import type { Attribution, Payment } from "express-affiliate";
import type { PoolClient } from "pg";

export interface Names {
  readonly client: PoolClient;
  readonly order: { readonly attribution: Attribution };
  readonly payment: Payment;
}
