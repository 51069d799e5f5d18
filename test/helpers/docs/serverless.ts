import type { AffiliateOptions, affiliate } from "express-affiliate";
import type { postgresOutbox } from "express-affiliate/postgres";
import type { Pool } from "pg";

export interface Names {
  readonly options: Pick<AffiliateOptions, "baseUrl" | "clientId" | "apiKey">;
  readonly affiliate: typeof affiliate;
  readonly postgresOutbox: typeof postgresOutbox;
  readonly pool: Pool;
  readonly waitUntil: (promise: Promise<void>) => void;
  readonly serve: (event: unknown, context: unknown) => Promise<unknown>;
}
