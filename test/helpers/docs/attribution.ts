import "express-session";
import type { Attribution } from "express-affiliate";

declare module "express-session" {
  interface SessionData {
    userId: number;
  }
}

export interface User {
  readonly id: number;
  readonly email: string;
  readonly name: string;
}

export interface Names {
  /** Creates the order, and the user if there is none yet. */
  readonly buy: (
    body: unknown,
  ) => Promise<{ user: User; isNew: boolean; order: { id: string; total: number } }>;
  /** Redeems what an OAuth provider sent back. */
  readonly signIn: (code: unknown) => Promise<{ user: User; isNew: boolean }>;
  readonly pending: Map<string, Attribution>;
}
