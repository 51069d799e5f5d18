import { OptionsError } from "../../shared/errors.js";
import { USUAL, type Value, type Words } from "../queue/database.js";
import { byVersion, statementsTo, type Table, type Types } from "../queue/tables.js";

/** Milliseconds since the epoch; by UTC, so that no time zone matters. */
export const NOW = "(timestampdiff(microsecond, timestamp'1970-01-01 00:00:00', utc_timestamp(3)) div 1000)";

export const TYPES: Types = {
  SEQUENCE: "bigint not null auto_increment primary key",
  NUMBER: "bigint",
  SMALL: "smallint",
  AMOUNT: "double",
  TEXT: "mediumtext",
  WORD: "varchar(40)",
  NAME: "varchar(280)",
};

export function wordsOf(prefix: string): Words {
  return {
    ...USUAL,
    events: `\`${prefix}events\``,
    queues: `\`${prefix}queues\``,
    migrations: `\`${prefix}migrations\``,
    now: NOW,
    // With old statistics, or a small table, the server would read all rows, and wait for locked ones.
    byVisitor: " force index (primary)",
    byVisitorAndKind: " force index (by_visitor)",
    byAlias: (column) => ` force index (by_${column})`,
    list: (length) => Array(length).fill("select ?").join(" union all "),
    // Not `insert ignore`, which ignores other errors, too.
    orIgnore: (column) => `on duplicate key update ${column} = ${column}`,
    returning: false,
    queueAlias: "",
    orUpdate: "on duplicate key update",
    old: (column) => column,
    given: (column) => `values(${column})`,
  };
}

export function createTable({ name, columns, indexes }: Table, words: Words): string[] {
  const keys = indexes.map((index) => `,\n  key ${index.name} (${index.columns})`);
  return [
    `create table if not exists ${words[name]} (${columns}${keys.join("")}
) engine = InnoDB row_format = dynamic default charset = ascii collate = ascii_bin`,
  ];
}

/**
 * The text with its values: it runs on any driver, in any library's transaction, whatever `sql_mode`
 * says of quotes and backslashes.
 */
export function withValues(text: string, values: readonly Value[] = []): string {
  let nth = 0;
  return text.replaceAll(/\?|''/g, (found) => literal(found === "?" ? (values[nth++] ?? null) : ""));
}

function literal(value: Value): string {
  if (value === null) return "null";
  if (typeof value === "number") return value < 0 ? `(${value})` : String(value);
  // Not '', which is null with `sql_mode` EMPTY_STRING_IS_NULL.
  const isPlain = /^[ !"#%&(->@-[\]-~]+$/.test(value);
  return isPlain ? `_ascii'${value}'` : `_ascii x'${Buffer.from(value, "latin1").toString("hex")}'`;
}

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
