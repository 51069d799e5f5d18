import { OutboxError } from "../../shared/errors.js";

/** Adds advice to what the server says, if users can do something about it. */
export function problemOf(error: unknown, schema: string): unknown {
  const { code, message } = Object(error) as { code?: unknown; message?: string };
  switch (code) {
    case "42501": // insufficient_privilege
      return problem(
        "ERR_AFFILIATE_POSTGRES_RIGHTS",
        `the database's role lacks a right (${message}): grant it what docs/postgres.md lists for the schema "${schema}", or have a role that may make the tables run what \`npx express-affiliate migrations --schema ${schema}\` prints`,
        error,
      );
    case "25006": // read_only_sql_transaction
      return problem(
        "ERR_AFFILIATE_POSTGRES_READ_ONLY",
        `the server takes no writes (${message}): connect to the primary, not to a standby, and set default_transaction_read_only to off for this role`,
        error,
      );
    case "42P01": // undefined_table
    case "42703": // undefined_column
    case "42883": // undefined_function
    case "3F000": // invalid_schema_name
      return problem(
        "ERR_AFFILIATE_POSTGRES_TABLES",
        `the tables in the schema "${schema}" are not as they were made (${message}): restore them, or drop the schema so that they are made anew`,
        error,
      );
    default:
      return error;
  }
}

export function problem(
  code: `ERR_AFFILIATE_POSTGRES_${string}`,
  message: string,
  cause?: unknown,
): OutboxError {
  const options = cause === undefined ? undefined : { cause };
  return new OutboxError(code, `postgresOutbox: ${message}`, options);
}
