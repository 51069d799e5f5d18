import type { Pool } from "pg";
import type { affiliate } from "../../../src/index.js";
import type { postgresOutbox } from "../../../src/outbox/postgres/index.js";

export interface Names {
  readonly affiliate: typeof affiliate;
  readonly postgresOutbox: typeof postgresOutbox;
  readonly pool: Pool;
  readonly waitUntil: (promise: Promise<void>) => void;
  readonly serve: (event: unknown, context: unknown) => Promise<unknown>;
}
