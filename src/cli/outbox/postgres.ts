import { createRequire } from "node:module";
import { postgresOutbox } from "../../outbox/postgres/postgres-outbox.js";
import { OutboxError } from "../../shared/errors.js";
import { peerPlaces, resolvePeer } from "../../shared/peer.js";
import type { OpenOutbox } from "./actions.js";

const TIMEOUT_MS = 20_000;

/**
 * Connects to the outbox in a database. Creates no tables.
 *
 * @throws OutboxError where `pg` is not installed.
 */
export function openPostgres(url: string, schema: string | undefined): OpenOutbox {
  const { Pool } = loadPg();
  const pool = new Pool({
    connectionString: url,
    max: 1,
    connectionTimeoutMillis: TIMEOUT_MS,
    query_timeout: TIMEOUT_MS,
    application_name: "express-affiliate",
  });
  const { look, deadLetters, handOver, close } = postgresOutbox({ pool, schema, migrate: false });
  return {
    name: "postgres",
    look,
    deadLetters,
    handOver,
    async close() {
      await close();
      await pool.end();
    },
  };
}

function loadPg(): typeof import("pg") {
  const file = resolvePeer("pg", peerPlaces(import.meta.url));
  if (file === undefined) {
    throw new OutboxError(
      "ERR_AFFILIATE_POSTGRES_DRIVER",
      "outbox: a Postgres URL needs the package pg, which is not installed here: npm install pg",
    );
  }
  return createRequire(file)(file);
}
