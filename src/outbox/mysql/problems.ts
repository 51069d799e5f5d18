import { OutboxError } from "../../shared/errors.js";
import { errnoOf } from "./errors.js";

/** An error of what the server says, with advice if users can do something about it. */
export function problemOf(error: unknown, prefix: string): unknown {
  const { message } = Object(error) as { message?: string };
  switch (errnoOf(error)) {
    case 1044: // ER_DBACCESS_DENIED_ERROR
    case 1142: // ER_TABLEACCESS_DENIED_ERROR
    case 1143: // ER_COLUMNACCESS_DENIED_ERROR
      return problem(
        "ERR_AFFILIATE_MYSQL_RIGHTS",
        `the database's user lacks a right (${message}): grant it what docs/mysql.md lists for the tables "${prefix}…", or have a user that may make the tables run what \`npx express-affiliate migrations --mysql --prefix ${prefix}\` prints`,
        error,
      );
    case 1290: // ER_OPTION_PREVENTS_STATEMENT
    case 1792: // ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION
    case 1836: // ER_READ_ONLY_MODE
      return problem(
        "ERR_AFFILIATE_MYSQL_READ_ONLY",
        `the server takes no writes (${message}): connect to the primary, not to a replica`,
        error,
      );
    case 1046: // ER_NO_DB_ERROR
    case 1054: // ER_BAD_FIELD_ERROR
    case 1146: // ER_NO_SUCH_TABLE
      return problem(
        "ERR_AFFILIATE_MYSQL_TABLES",
        `the tables "${prefix}…" are not as they were made (${message}): name the database that has them in the pool's options; restore them, or drop them so that they are made anew`,
        error,
      );
    default:
      return error;
  }
}

export function problem(
  code: `ERR_AFFILIATE_MYSQL_${string}`,
  message: string,
  cause?: unknown,
): OutboxError {
  const options = cause === undefined ? undefined : { cause };
  return new OutboxError(code, `mysqlOutbox: ${message}`, options);
}
