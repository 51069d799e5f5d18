import type express from "express";
import type { Pool } from "pg";
import type { Attribution, affiliate } from "../../../src/index.js";
import type { postgresOutbox } from "../../../src/outbox/postgres/index.js";

export interface Order {
  readonly id: string;
  readonly email: string;
  readonly total: number;
  readonly createdAt?: Date;
  readonly affiliate?: Attribution;
}

export interface Names {
  readonly orders: { complete(order: object): Promise<Order> };
  readonly affiliate: typeof affiliate;
  readonly postgresOutbox: typeof postgresOutbox;
  readonly pool: Pool;
  readonly express: typeof express;
}
