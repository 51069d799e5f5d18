import { OptionsError } from "../../shared/errors.js";
import { NEWEST_VERSION, statementsTo } from "../queue/tables.js";
import { errnoOf, problem } from "./problems.js";
import { createTable, wordsOf } from "./sql.js";

// biome-ignore lint/suspicious/noExplicitAny: a row is what its statement says.
export type Run = (text: string) => Promise<any[]>;

/** Needs only backticks, and is short enough for the names of indexes. */
export const PREFIX = {
  pattern: /^[A-Za-z][A-Za-z0-9_]{0,39}$/,
  error: "must be a letter, then letters, digits and _, at most 40",
};

const NO_SUCH_TABLE = 1146;
const LOCK_S = 20;

/**
 * The SQL that `mysqlOutbox` runs if its tables are missing or of an earlier version, for people
 * who run it (`migrate: false`): a text of several statements for each version, the first first.
 * MySQL ends a transaction before it makes a table: a text that was run in part can be run again.
 *
 * @param prefix default `affiliate_`.
 * @throws OptionsError if `mysqlOutbox` would refuse the prefix.
 */
export function mysqlMigrations(prefix = "affiliate_"): readonly string[] {
  if (!PREFIX.pattern.test(prefix)) throw new OptionsError("mysqlMigrations", [`\`prefix\` ${PREFIX.error}`]);
  return Array.from(
    { length: NEWEST_VERSION },
    (_, nth) => `${migrationTo(nth + 1, prefix).join(";\n\n")};\n`,
  );
}

const migrationTo = (version: number, prefix: string): string[] =>
  statementsTo(version, wordsOf(prefix), (table) => createTable(prefix, table));

/** Brings the tables to this version. @throws OutboxError, or what the server says. */
export async function migrate(
  run: Run,
  { prefix, allowed }: { prefix: string; allowed: boolean },
): Promise<void> {
  if (isCurrent(await versionOf(run, prefix), prefix)) return;
  if (!allowed) {
    throw problem(
      "ERR_AFFILIATE_MYSQL_TABLES",
      `the tables "${prefix}…" are missing or of an earlier version: run the SQL of mysqlMigrations("${prefix}"), which \`npx express-affiliate migrations --mysql --prefix ${prefix}\` prints, or let the host's process do so (\`migrate: true\`)`,
    );
  }

  // One process at a time: the second finds nothing left to do.
  const lock = `concat(left(database(), 16), ' ${prefix}')`;
  await run(`select get_lock(${lock}, ${LOCK_S})`);
  try {
    for (let next = (await versionOf(run, prefix)) + 1; next <= NEWEST_VERSION; next++) {
      for (const statement of migrationTo(next, prefix)) await run(statement);
    }
  } finally {
    await run(`select release_lock(${lock})`);
  }
}

function isCurrent(version: number, prefix: string): boolean {
  if (version > NEWEST_VERSION) {
    throw problem(
      "ERR_AFFILIATE_MYSQL_NEWER",
      `the tables "${prefix}…" are of version ${version}, and this code knows them up to ${NEWEST_VERSION}: install the newer express-affiliate`,
    );
  }
  return version === NEWEST_VERSION;
}

async function versionOf(run: Run, prefix: string): Promise<number> {
  try {
    const [row] = await run(`select max(\`version\`) as version from \`${prefix}migrations\``);
    return Number(row?.version ?? 0);
  } catch (error) {
    if (errnoOf(error) === NO_SUCH_TABLE) return 0;
    throw error;
  }
}
