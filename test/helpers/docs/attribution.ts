import "express-session";
import type { Attribution } from "../../../src/index.js";

declare module "express-session" {
  interface SessionData {
    userId: number;
  }
}

export interface User {
  readonly id: number;
  readonly email: string;
  readonly name: string;
  readonly affiliate?: Attribution | null | undefined;
}

export interface Order {
  readonly id: string;
  readonly email: string;
  readonly total: number;
  readonly gateway: string;
}

export interface Names {
  readonly users: {
    create(user: Omit<User, "id">): Promise<User>;
    byCustomer(customer: string): Promise<User>;
  };
  readonly orders: { complete(id: string): Promise<Order> };
  /** Creates the order, and the user if there is none yet. */
  readonly buy: (
    body: unknown,
  ) => Promise<{ user: User; isNew: boolean; order: { id: string; total: number } }>;
  /** Redeems what an OAuth provider sent back. */
  readonly signIn: (code: unknown) => Promise<{ user: User; isNew: boolean }>;
  readonly pending: Map<string, Attribution>;
}
