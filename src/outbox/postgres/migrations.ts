import { OptionsError } from "../../shared/errors.js";
import { NEWEST_VERSION, statementsTo } from "../queue/tables.js";
import type { PostgresClient } from "./pool.js";
import { problem } from "./problems.js";
import { createTable, wordsOf } from "./sql.js";

/** A name that needs only quotes in SQL, and is short enough for the channel's name. */
export const SCHEMA_NAME = {
  pattern: /^(?!pg_)[A-Za-z][A-Za-z0-9_]{0,39}$/,
  error: "must be a letter, then letters, digits and _, at most 40, and not begin with pg_",
};

/**
 * The SQL that `postgresOutbox` runs if its tables are missing or of an earlier version, for people
 * who run it by hand (`migrate: false`): one transaction for each version of the tables, the first
 * version first.
 *
 * @param schema default `affiliate`.
 * @throws OptionsError if `postgresOutbox` would refuse the name.
 */
export function postgresMigrations(schema = "affiliate"): readonly string[] {
  if (!SCHEMA_NAME.pattern.test(schema)) {
    throw new OptionsError("postgresMigrations", [`\`schema\` ${SCHEMA_NAME.error}`]);
  }
  return Array.from(
    { length: NEWEST_VERSION },
    (_, nth) => `begin;\n${migrationTo(nth + 1, schema)};\ncommit;\n`,
  );
}

function migrationTo(version: number, schema: string): string {
  const name = `"${schema}"`;
  return [
    // Spares it the right to create schemas if an administrator has made this one.
    `do $$ begin if to_regnamespace('${name}') is null then create schema ${name}; end if; end $$`,
    ...statementsTo(version, wordsOf(name), (table) => createTable(name, table)),
  ].join(";\n\n");
}

/** @throws OutboxError if it cannot bring the tables to this version, or what the server says. */
export async function migrate(
  client: Pick<PostgresClient, "query">,
  { schema, allowed }: { schema: string; allowed: boolean },
): Promise<void> {
  if (isCurrent(await versionOf(client, schema))) return;
  if (!allowed) {
    throw problem(
      "ERR_AFFILIATE_POSTGRES_TABLES",
      `the tables in the schema "${schema}" are missing or of an earlier version: run the SQL of postgresMigrations("${schema}"), which \`npx express-affiliate migrations --schema ${schema}\` prints, or let the host's process do so (\`migrate: true\`)`,
    );
  }

  await client.query("begin");
  try {
    // One process at a time; the second one finds nothing left to do.
    await client.query(
      `select pg_advisory_xact_lock(hashtextextended('express-affiliate migrations ${schema}', 0))`,
    );
    for (let next = (await versionOf(client, schema)) + 1; next <= NEWEST_VERSION; next++) {
      await client.query(migrationTo(next, schema));
    }
    await client.query("commit");
  } catch (error) {
    await client.query("rollback").catch(() => {});
    throw error;
  }

  function isCurrent(version: number): boolean {
    if (version > NEWEST_VERSION) {
      throw problem(
        "ERR_AFFILIATE_POSTGRES_NEWER",
        `the tables in the schema "${schema}" are of version ${version}, and this code knows them up to ${NEWEST_VERSION}: install the newer express-affiliate`,
      );
    }
    return version === NEWEST_VERSION;
  }
}

// Asks the catalogue: there a missing or forbidden table is no error.
async function versionOf(client: Pick<PostgresClient, "query">, schema: string): Promise<number> {
  const found = await client.query(`
    select from pg_catalog.pg_class as c join pg_catalog.pg_namespace as n on n.oid = c.relnamespace
    where n.nspname = '${schema}' and c.relname = 'migrations'`);
  if (found.rows.length === 0) return 0;
  const { rows } = await client.query(`select max(version)::text as version from "${schema}".migrations`);
  return Number(rows[0]?.version ?? 0);
}
