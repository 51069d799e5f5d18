import { OutboxError } from "../../errors.js";
import { functions } from "./functions.js";
import { tables } from "./tables.js";

/** What a migration runs on: one connection. */
export interface MigrationClient {
  // biome-ignore lint/suspicious/noExplicitAny: a row is what its statement says.
  query(text: string): Promise<{ rows: any[] }>;
}

const QUERIES_OF_VERSIONS = [(schema: string) => tables(schema) + functions(schema)];

/** A schema's name as SQL spells it; the option's check lets nothing through that would need more than quotes. */
export function quoted(schema: string): string {
  return `"${schema}"`;
}

/**
 * The SQL that `postgresOutbox` runs where its tables are missing or of an earlier version, for who runs it by hand
 * (`migrate: false`): one transaction for each version of the tables, the first first.
 *
 * @param schema default `affiliate`.
 */
export function postgresMigrations(schema = "affiliate"): readonly string[] {
  return QUERIES_OF_VERSIONS.map((_, nth) => `begin;\n${migrationTo(nth + 1, schema)}\ncommit;\n`);
}

function migrationTo(version: number, schema: string): string {
  const name = quoted(schema);
  const first =
    version === 1
      ? `create schema if not exists ${name};\ncreate table ${name}.migrations (version integer primary key, at timestamptz not null default now());\n`
      : "";
  return `${first}${QUERIES_OF_VERSIONS[version - 1]?.(name)}\ninsert into ${name}.migrations (version) values (${version});`;
}

/**
 * Brings the tables to the version that this code works with, or says why it cannot.
 *
 * @throws OutboxError, or what the server says.
 */
export async function migrate(
  client: MigrationClient,
  { schema, allowed }: { schema: string; allowed: boolean },
): Promise<void> {
  const newest = QUERIES_OF_VERSIONS.length;
  if (isCurrent(await versionOf(client, schema))) return;
  if (!allowed) {
    throw unfit(
      `the tables in the schema "${schema}" are missing or of an earlier version: run the SQL of postgresMigrations(${JSON.stringify(schema)}), or leave \`migrate\` at true`,
    );
  }

  await client.query("begin");
  try {
    // One process at a time; who comes second finds nothing left to do.
    await client.query(
      `select pg_advisory_xact_lock(hashtextextended('express-affiliate migrations ${schema}', 0))`,
    );
    for (let next = (await versionOf(client, schema)) + 1; next <= newest; next++) {
      await client.query(migrationTo(next, schema));
    }
    await client.query("commit");
  } catch (error) {
    await client.query("rollback").catch(() => {});
    throw error;
  }

  function isCurrent(version: number): boolean {
    if (version > newest) {
      throw unfit(
        `the tables in the schema "${schema}" are of version ${version}, and this code knows them up to ${newest}: install the newer express-affiliate`,
      );
    }
    return version === newest;
  }
}

// Through the catalogue, where asking for what is missing or out of reach is no error.
async function versionOf(client: MigrationClient, schema: string): Promise<number> {
  const found = await client.query(`
    select from pg_catalog.pg_class as c join pg_catalog.pg_namespace as n on n.oid = c.relnamespace
    where n.nspname = '${schema}' and c.relname = 'migrations'`);
  if (found.rows.length === 0) return 0;
  const { rows } = await client.query(
    `select max(version)::text as version from ${quoted(schema)}.migrations`,
  );
  return Number(rows[0]?.version ?? 0);
}

function unfit(message: string): OutboxError {
  return new OutboxError("ERR_AFFILIATE_POSTGRES_TABLES", `postgresOutbox: ${message}`);
}
