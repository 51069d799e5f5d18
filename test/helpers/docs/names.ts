import "./session.js";
import type { Server } from "node:http";
import type { Express, Request, RequestHandler, Response } from "express";
import type * as core from "express-affiliate";
import type * as postgres from "express-affiliate/postgres";
import type { Pool, PoolClient } from "pg";

interface User {
  readonly id: number;
  readonly email: string;
  readonly name: string;
  readonly affiliate: core.Attribution;
}

interface Order {
  readonly id: string;
  readonly email: string;
  readonly total: number;
  readonly affiliateCode?: string;
  readonly affiliate: core.Attribution;
}

interface PendingUser {
  readonly email: string;
  readonly affiliate: core.Attribution;
}

// What a page's code and the examples of docstrings take for given. tsconfig.json leaves this file
// out, so the names are global for those alone.
declare global {
  const app: Express;
  const tracker: core.Affiliate;
  const server: Server;
  const affiliate: typeof core.affiliate;
  const express: typeof import("express");
  const baseUrl: string;
  const clientId: number;
  const apiKey: string;
  const options: Pick<core.AffiliateOptions, "baseUrl" | "clientId" | "apiKey">;
  const pool: Pool;
  const client: PoolClient;
  const postgresOutbox: typeof postgres.postgresOutbox;

  const req: core.Attributed<Request>;
  const users: {
    create(fields: object): Promise<User>;
    get(id: number): Promise<{ readonly name: string; readonly role: string } | undefined>;
    update(id: number, row: { affiliate: core.Attribution | null }): Promise<void>;
  };
  const pendingUsers: {
    add(user: PendingUser): Promise<void>;
    confirm(token: string): Promise<(PendingUser & { readonly id: number }) | undefined>;
  };
  const user: User;
  const email: string;
  const orders: {
    complete(body: unknown): Promise<Order>;
    keepLead(lead: { receiptId: string; leadId: number }): void;
  };
  const order: Order;
  /** What a payment gateway tells. */
  const event: unknown;
  const payment: core.Payment;
  const completeCheckout: RequestHandler;
  /** Of docs/frameworks.md. */
  const forward: (
    handler: (req: Request<Record<string, string>>, res: Response) => Promise<unknown>,
  ) => RequestHandler<Record<string, string>>;
  /** Of an order, or a handler of the route. */
  const checkout: (order: unknown, res?: unknown) => Promise<core.Payment>;
  /** Creates the order, and the user if there is none yet. */
  const buy: (body: unknown) => Promise<{ user: User; isNew: boolean; order: Order }>;
  /** Redeems what an OAuth provider sent back. */
  const signIn: (code: unknown) => Promise<{ user: User; isNew: boolean }>;
  const pending: Map<string, core.Attribution>;
  /** The names of affiliates by their references. */
  const names: ReadonlyMap<string, string>;
  const pager: { alert(message: string): void };
  const waitUntil: (promise: Promise<void>) => void;
  const serve: (event: unknown, context: unknown) => Promise<unknown>;
  /** In the browser. */
  const document: { readonly cookie: string };
  const apiUrl: string;
}
