import { mysqlMigrations } from "../outbox/mysql/sql.js";
import { postgresMigrations } from "../outbox/postgres/sql.js";
import { readArguments, understood } from "./arguments.js";
import type { Terminal } from "./terminal.js";

const help = `Usage: express-affiliate migrations [options]

Prints the SQL that makes the Postgres outbox's tables, or the MySQL outbox's,
to be run by hand (migrate: false). It may be run again, as after an update:

  express-affiliate migrations | psql "$DATABASE_URL"
  express-affiliate migrations --mysql | mysql shop

  --schema NAME     the schema that the tables are in (default affiliate)
  --mysql           of the MySQL outbox
  --prefix PREFIX   with --mysql: what the tables' names begin with
                    (default affiliate_)
  --help            prints this

Exit code: 0, or 2 if the arguments are wrong.`;

/** Returns the exit code. */
export function migrationsCommand(args: string[], terminal: Terminal): number {
  const migrations = understood("migrations", { args, help, terminal, read: () => migrationsFor(args) });
  if (typeof migrations === "number") return migrations;
  terminal.stdout(migrations.join("\n"));
  return 0;
}

function migrationsFor(args: string[]): readonly string[] | undefined {
  const { values } = readArguments({
    args,
    options: {
      schema: { type: "string" },
      mysql: { type: "boolean", default: false },
      prefix: { type: "string" },
      help: { type: "boolean", short: "h" },
    },
  });
  const { mysql, schema, prefix, help: isHelp } = values;
  if (isHelp) return undefined;
  if (mysql && schema !== undefined) throw new Error("--schema goes without --mysql; --prefix goes with it");
  if (!mysql && prefix !== undefined) throw new Error("--prefix goes with --mysql");
  return mysql ? mysqlMigrations(prefix) : postgresMigrations(schema);
}
