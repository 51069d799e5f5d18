import { USUAL, type Value, type Words } from "../queue/database.js";
import type { Types } from "../queue/tables.js";

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
