import type { Database, Words } from "./database.js";
import { QUEUED } from "./rows.js";

/**
 * What stands for a type in the tables below. Texts are ASCII, and compared by their bytes: a
 * `WORD` has at most 40 characters, a `NAME` a destination, a letter, and an id of 256.
 */
export type Types = Readonly<
  Record<"SEQUENCE" | "NUMBER" | "SMALL" | "AMOUNT" | "TEXT" | "WORD" | "NAME", string>
>;

export interface Table {
  readonly name: "events" | "queues" | "migrations";
  readonly columns: string;
  /** `where`, in SQL: the rows that it has; a database without partial indexes leaves it out. */
  readonly indexes: readonly { readonly name: string; readonly columns: string; readonly where?: string }[];
}

const EVENTS: Table = {
  name: "events",
  columns: `
  seq SEQUENCE,
  destination NUMBER not null,
  id WORD not null,
  state SMALL not null,
  kind SMALL not null,
  endpoint SMALL not null,
  visitor NAME not null,
  place NUMBER not null,
  alias NAME,
  alias_2 NAME,
  created_at NUMBER not null,
  queued_at NUMBER not null,
  at_ms NUMBER not null,
  report WORD not null,
  data TEXT not null,
  size NUMBER not null,
  amount AMOUNT,
  history TEXT,
  interrupted SMALL not null,
  reason WORD,
  death TEXT,
  unique (destination, id)`,
  indexes: [
    { name: "by_visitor", columns: "visitor, state, kind, place, seq", where: `state = ${QUEUED}` },
    { name: "by_alias", columns: "alias, state", where: `state = ${QUEUED} and alias is not null` },
    { name: "by_alias_2", columns: "alias_2, state", where: `state = ${QUEUED} and alias_2 is not null` },
    { name: "by_state", columns: "state, destination, at_ms, seq", where: `state <> ${QUEUED}` },
  ],
};

const QUEUES: Table = {
  name: "queues",
  columns: `
  visitor NAME not null primary key,
  destination NUMBER not null,
  head NUMBER not null,
  place NUMBER not null,
  urgency SMALL not null,
  endpoint SMALL not null,
  tried SMALL not null,
  turn SMALL not null,
  due_at NUMBER not null,
  has_more SMALL not null default 1,
  claimed_by WORD`,
  indexes: [{ name: "by_turn", columns: "destination, turn, due_at, head" }],
};

const MIGRATIONS: Table = {
  name: "migrations",
  columns: "version NUMBER not null primary key, made_at NUMBER not null",
  indexes: [],
};

/** The tables of each version, which are made if they are missing. Fixed once published. */
const VERSIONS: readonly (readonly Table[])[] = [[MIGRATIONS, EVENTS, QUEUES]];

export const NEWEST_VERSION = VERSIONS.length;

/** The columns that hold texts. */
export const TEXTS: ReadonlySet<string> = new Set(
  VERSIONS.flat().flatMap(({ columns }) =>
    [...columns.matchAll(/\b(\w+) (?:TEXT|WORD|NAME)\b/g)].map(([, name = ""]) => name),
  ),
);

/** Rejects unless this user may insert, change and delete rows of events and queues. Changes none. */
export async function checkWrites({ words, write }: Pick<Database, "words" | "write">): Promise<void> {
  for (const { name, columns } of [EVENTS, QUEUES]) {
    const names = [...columns.matchAll(/^ {2}(\w+) (?!SEQUENCE)[A-Z]/gm)].map(([, name]) => name).join();
    await write(`insert into ${words[name]} (${names}) select ${names} from ${words[name]} where 0 = 1`);
    await write(`update ${words[name]} set visitor = '' where 0 = 1`);
    await write(`delete from ${words[name]} where 0 = 1`);
  }
}

/** One value for each version, the first version first. */
export function byVersion<T>(of: (version: number) => T): T[] {
  return VERSIONS.map((_, nth) => of(nth + 1));
}

/**
 * The statements that lead to a version from the one before it. Each can be run again.
 *
 * @param create gives the statements that make a table and its indexes.
 */
export function statementsTo(
  version: number,
  words: Words,
  types: Types,
  create: (table: Table, words: Words) => readonly string[],
): string[] {
  const { migrations, now } = words;
  const tables = (VERSIONS[version - 1] ?? []).map((table) => ({
    ...table,
    columns: table.columns.replaceAll(/\b[A-Z]+\b/g, (word) => types[word as keyof Types] ?? word),
  }));
  return [
    ...tables.flatMap((table) => create(table, words)),
    `insert into ${migrations} (version, made_at) select ${version}, ${now} from (select 1 as one) as once
     where not exists (select 1 from ${migrations} where version = ${version})`,
  ];
}

/** For a database with partial indexes. @param end after the table's columns. */
export function tableWith({ name, columns, indexes }: Table, words: Words, end = ""): string[] {
  return [
    `create table if not exists ${words[name]} (${columns})${end}`,
    ...indexes.map(
      ({ name: index, columns, where }) =>
        `create index if not exists ${name}_${index} on ${words[name]} (${columns})${where ? ` where ${where}` : ""}`,
    ),
  ];
}
