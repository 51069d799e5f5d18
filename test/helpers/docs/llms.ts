import type { Attribution } from "express-affiliate";

interface User {
  readonly id: number;
  readonly email: string;
  readonly name: string;
  readonly affiliate: Attribution;
}

export interface Names {
  readonly users: {
    create(body: unknown): Promise<User>;
    update(id: number, row: { affiliate: Attribution }): Promise<void>;
  };
  readonly orders: { complete(body: unknown): Promise<{ id: string; email: string; total: number }> };
  readonly req: { readonly affiliate: { snapshot(): Attribution } };
  readonly user: User;
  readonly invoice: { readonly id: string; readonly total: number };
}
