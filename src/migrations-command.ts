import { parseArgs } from "node:util";
import { errorFrom } from "./errors.js";
import { postgresMigrations } from "./outbox/postgres/migrations.js";
import type { Terminal } from "./terminal.js";

const help = `Usage: express-affiliate migrations [options]

Prints the SQL that makes the Postgres outbox's tables, for who runs it by hand (migrate: false):

  express-affiliate migrations | psql "$DATABASE_URL"

  --schema NAME   the schema that the tables are in (default affiliate)
  --from N        leaves out what brings the tables to version N and before (default 0)
  --help          prints this`;

/** `express-affiliate migrations`. Returns the exit code. */
export function migrationsCommand(args: string[], { stdout, stderr }: Terminal): number {
  try {
    const { values } = parseArgs({
      args,
      options: {
        schema: { type: "string" },
        from: { type: "string", default: "0" },
        help: { type: "boolean", short: "h" },
      },
    });
    if (!/^\d+$/.test(values.from)) throw new Error("migrations: --from must be a version's number");
    if (values.help) stdout(help);
    else stdout(postgresMigrations(values.schema).slice(Number(values.from)).join("\n"));
    return 0;
  } catch (error) {
    stderr(`${errorFrom(error).message}\n\n${help}`);
    return 2;
  }
}
