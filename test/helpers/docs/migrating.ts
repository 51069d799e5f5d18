import type express from "express";
import type { Attribution, affiliate, Payment } from "express-affiliate";
import type { postgresOutbox } from "express-affiliate/postgres";
import type { Pool } from "pg";

export interface Order {
  readonly id: string;
  readonly email: string;
  readonly total: number;
  readonly affiliate?: Attribution;
}

export interface Names {
  readonly checkout: (req: express.Request, res: express.Response) => Promise<Payment>;
  readonly affiliate: typeof affiliate;
  readonly postgresOutbox: typeof postgresOutbox;
  readonly pool: Pool;
  readonly express: typeof express;
}
