import type { Pool, PoolClient } from "pg";
import type { Attribution, affiliate, Payment } from "../../../src/index.js";
import type { postgresOutbox } from "../../../src/outbox/postgres/index.js";

export interface Names {
  readonly baseUrl: string;
  readonly clientId: number;
  readonly apiKey: string;
  readonly affiliate: typeof affiliate;
  readonly postgresOutbox: typeof postgresOutbox;
  readonly pool: Pool;
  readonly client: PoolClient;
  readonly order: { readonly attribution: Attribution };
  readonly payment: Payment;
}
