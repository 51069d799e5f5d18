import { createProblems } from "../queue/problems.js";

export const problemsOf = (schema: string) =>
  createProblems({
    outbox: "postgres",
    user: "role",
    tables: `in the schema "${schema}"`,
    name: schema,
    flags: `--schema ${schema}`,
    codeOf: (error) => Object(error).code,
    // insufficient_privilege
    rights: { code: "ERR_AFFILIATE_POSTGRES_RIGHTS", servers: ["42501"] },
    readOnly: {
      code: "ERR_AFFILIATE_POSTGRES_READ_ONLY",
      // read_only_sql_transaction
      servers: ["25006"],
      advice:
        "connect to the primary, not to a standby, and set default_transaction_read_only to off for this role",
    },
    wrongTables: {
      code: "ERR_AFFILIATE_POSTGRES_TABLES",
      // undefined_table, undefined_column, undefined_function, invalid_schema_name
      servers: ["42P01", "42703", "42883", "3F000"],
      advice: "restore them, or drop the schema so that they are made anew",
    },
    newer: "ERR_AFFILIATE_POSTGRES_NEWER",
    silent: "ERR_AFFILIATE_POSTGRES_SILENT",
  });
