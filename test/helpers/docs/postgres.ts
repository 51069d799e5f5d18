import type { affiliate } from "express-affiliate";
import type { postgresOutbox } from "express-affiliate/postgres";
import type { Pool } from "pg";

export interface Names {
  readonly baseUrl: string;
  readonly clientId: number;
  readonly apiKey: string;
  readonly affiliate: typeof affiliate;
  readonly postgresOutbox: typeof postgresOutbox;
  readonly pool: Pool;
}
