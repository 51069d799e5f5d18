import { OutboxError } from "../../shared/errors.js";
import { LONGEST_WAIT_MS } from "./connections.js";

/** What may be wrong with a server: our code, and the server's. */
interface Problem {
  readonly code: string;
  readonly servers: readonly unknown[];
}

/** The errors of a server's outbox, with advice if users can do something about them. */
export function createProblems(about: {
  /** Such as `mysql`: then the factory is `mysqlOutbox`, and its guide docs/mysql.md. */
  outbox: string;
  user: "role" | "user";
  /** Which tables these are: `in the schema "affiliate"`. */
  tables: string;
  /** `affiliate`. */
  name: string;
  /** What makes the command `migrations` print their SQL. */
  flags: string;
  rights: Problem;
  readOnly: Problem & { readonly advice: string };
  wrongTables: Problem & { readonly advice: string };
  newer: string;
  silent: string;
  /** The server's code of an error. */
  codeOf: (error: unknown) => unknown;
}) {
  const { outbox, user, name, rights, readOnly, wrongTables } = about;
  const tables = `the tables ${about.tables}`;
  const command = `\`npx express-affiliate migrations ${about.flags}\``;

  function problem(code: string, message: string, cause?: unknown): OutboxError {
    const options = cause === undefined ? undefined : { cause };
    return new OutboxError(code, `${outbox}Outbox: ${message}`, options);
  }

  return {
    problem,
    missing: () =>
      problem(
        wrongTables.code,
        `${tables} are missing or of an earlier version: run the SQL of ${outbox}Migrations("${name}"), which ${command} prints, or let the host's process do so (\`migrate: true\`)`,
      ),
    newer: (version: number) =>
      problem(
        about.newer,
        `${tables} are of version ${version}, which this code does not know: install the newer express-affiliate`,
      ),
    silence: () => problem(about.silent, `no answer from the server within ${LONGEST_WAIT_MS} ms`),
    problemOf(error: unknown): unknown {
      const says = String(Object(error).message);
      const is = ({ servers }: Problem) => servers.includes(about.codeOf(error));
      if (is(rights)) {
        const advice = `grant it what docs/${outbox}.md lists for ${tables}, or have a ${user} that may make the tables run what ${command} prints`;
        return problem(rights.code, `the database's ${user} lacks a right (${says}): ${advice}`, error);
      }
      if (is(readOnly))
        return problem(readOnly.code, `the server takes no writes (${says}): ${readOnly.advice}`, error);
      if (!is(wrongTables)) return error;
      const { code, advice } = wrongTables;
      return problem(code, `${tables} are not as they were made (${says}): ${advice}`, error);
    },
  };
}
