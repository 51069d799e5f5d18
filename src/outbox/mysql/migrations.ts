import { OptionsError } from "../../shared/errors.js";
import { byVersion, statementsTo } from "../queue/tables.js";
import { createTable, TYPES, wordsOf } from "./sql.js";

/** Needs only backticks, and is short enough for the names of indexes. */
export const PREFIX = {
  pattern: /^[A-Za-z][A-Za-z0-9_]{0,39}$/,
  error: "must be a letter, then letters, digits and _, at most 40",
};

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
  return byVersion((version) => `${migrationTo(version, prefix).join(";\n\n")};\n`);
}

export const migrationTo = (version: number, prefix: string): string[] =>
  statementsTo(version, wordsOf(prefix), TYPES, createTable);
