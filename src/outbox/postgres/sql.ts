import { OptionsError } from "../../shared/errors.js";
import { USUAL, type Value, type Words } from "../queue/database.js";
import { byVersion, statementsTo, type Types, tableWith } from "../queue/tables.js";

// `remote_apply` is kept: it is stronger.
/** Makes the commit of its transaction durable, whatever the default is. */
export const DURABLY = `set_config('synchronous_commit',
  case current_setting('synchronous_commit') when 'remote_apply' then 'remote_apply' else 'on' end, true)`;

const ASCII = 'text collate "C"';

export const TYPES: Types = {
  SEQUENCE: "bigint generated always as identity primary key",
  NUMBER: "bigint",
  SMALL: "smallint",
  AMOUNT: "double precision",
  TEXT: ASCII,
  WORD: ASCII,
  NAME: ASCII,
};

/** `quoted`: the schema's name. */
export function wordsOf(quoted: string): Words {
  return {
    ...USUAL,
    events: `${quoted}.events`,
    queues: `${quoted}.queues`,
    migrations: `${quoted}.migrations`,
    now: "(extract(epoch from now()) * 1000)::bigint",
  };
}

/** The text with `$1`, `$2`, … for texts. Numbers are in it: libraries convert them in different ways. */
export function numbered(text: string, values: readonly Value[] = []): { text: string; values: string[] } {
  const texts: string[] = [];
  let nth = 0;
  const result = text.replaceAll("?", () => {
    const value = values[nth++] ?? null;
    if (value === null) return "null";
    if (typeof value === "number") return value < 0 ? `(${value})` : String(value);
    texts.push(value);
    return `$${texts.length}::text`;
  });
  return { text: result, values: texts };
}

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
