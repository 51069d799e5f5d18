import type { Attribution } from "express-affiliate";

interface User {
  readonly id: number;
  readonly email: string;
}

export interface Names {
  readonly users: {
    create(fields: object): Promise<User>;
    update(id: number, row: { affiliate: Attribution }): Promise<void>;
  };
  /** In the browser. */
  readonly document: { readonly cookie: string };
  readonly apiUrl: string;
  readonly email: string;
}
