import { OptionsError } from "../../shared/errors.js";
import { byVersion, statementsTo, tableWith } from "../queue/tables.js";
import { TYPES, wordsOf } from "./sql.js";

/** A name that needs only quotes in SQL. */
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
  return byVersion((version) => `begin;\n${migrationTo(version, schema).join(";\n\n")};\ncommit;\n`);
}

export function migrationTo(version: number, schema: string): string[] {
  const name = `"${schema}"`;
  return [
    // Spares it the right to create schemas if an administrator has made this one.
    `do $$ begin if to_regnamespace('${name}') is null then create schema ${name}; end if; end $$`,
    ...statementsTo(version, wordsOf(name), TYPES, tableWith),
  ];
}
