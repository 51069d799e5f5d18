import type { Pool, PoolClient } from "pg";
import type { Attribution, affiliate, Payment } from "../../../src/index.js";
import type { postgresOutbox } from "../../../src/outbox/postgres/index.js";

interface Order {
  readonly id: string;
  readonly email: string;
  readonly total: number;
  readonly attribution: Attribution;
}

// biome-ignore lint/suspicious/noExplicitAny: a library's own, with a schema of the host's.
type TheirOwn = any;

export interface Names {
  readonly baseUrl: string;
  readonly clientId: number;
  readonly apiKey: string;
  readonly affiliate: typeof affiliate;
  readonly postgresOutbox: typeof postgresOutbox;
  readonly pool: Pool;
  readonly client: PoolClient;
  readonly order: Order;
  readonly payment: Payment;
  readonly orders: TheirOwn;
  readonly db: TheirOwn;
  readonly knex: TheirOwn;
  readonly prisma: TheirOwn;
  readonly dataSource: TheirOwn;
}
