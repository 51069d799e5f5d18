import type { Attribution } from "express-affiliate";

interface Order {
  readonly id: string;
  readonly email: string;
  readonly total: number;
}

export interface Names {
  /** The part of the package `stripe` that a checkout needs. */
  readonly stripe: {
    readonly checkout: {
      readonly sessions: {
        create(session: {
          readonly metadata: Record<string, string>;
          readonly [field: string]: unknown;
        }): Promise<{
          readonly url: string;
        }>;
      };
    };
  };
  readonly orders: { complete(body: unknown): Promise<Order & { readonly affiliateCode?: string }> };
  readonly pendingUsers: {
    add(user: { email: string; affiliate: Attribution }): Promise<void>;
    confirm(token: string): Promise<{ id: number; email: string; affiliate: Attribution } | undefined>;
  };
  /** The names of affiliates by their references. */
  readonly names: ReadonlyMap<string, string>;
}
