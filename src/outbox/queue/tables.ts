import type { Words } from "./database.js";
import { QUEUED } from "./rows.js";

/** What a column holds. Texts are ASCII, and compared by their bytes. */
export type ColumnType =
  | "sequence"
  | "number"
  | "small number"
  | "amount"
  | "long text"
  | { readonly atMost: number };

export interface Index {
  readonly name: string;
  readonly columns: readonly string[];
  /** SQL: the rows that it has; a database without partial indexes leaves it out. */
  readonly where?: string;
}

export interface Table {
  readonly name: "events" | "queues" | "migrations";
  readonly primaryKey: string;
  /** Those with a `?` may be null. */
  readonly columns: Readonly<Record<string, ColumnType>>;
  readonly unique?: readonly string[];
  readonly indexes: readonly Index[];
}

const WORD = { atMost: 40 } as const;
// A destination, a letter, and an id of 256 characters.
const NAME = { atMost: 280 } as const;

const EVENTS: Table = {
  name: "events",
  primaryKey: "seq",
  columns: {
    seq: "sequence",
    destination: "number",
    id: WORD,
    state: "small number",
    kind: "small number",
    endpoint: "small number",
    visitor: NAME,
    place: "number",
    "alias?": NAME,
    "alias_2?": NAME,
    created_at: "number",
    queued_at: "number",
    at_ms: "number",
    report: WORD,
    data: "long text",
    size: "number",
    "amount?": "amount",
    "history?": "long text",
    interrupted: "small number",
    "reason?": WORD,
    "death?": "long text",
  },
  unique: ["destination", "id"],
  indexes: [
    { name: "by_visitor", columns: ["visitor", "state", "kind", "place", "seq"], where: `state = ${QUEUED}` },
    { name: "by_alias", columns: ["alias", "state"], where: `state = ${QUEUED} and alias is not null` },
    { name: "by_alias_2", columns: ["alias_2", "state"], where: `state = ${QUEUED} and alias_2 is not null` },
    { name: "by_state", columns: ["state", "destination", "at_ms", "seq"], where: `state <> ${QUEUED}` },
  ],
};

const QUEUES: Table = {
  name: "queues",
  primaryKey: "visitor",
  columns: {
    visitor: NAME,
    destination: "number",
    head: "number",
    place: "number",
    urgency: "small number",
    endpoint: "small number",
    tried: "small number",
    turn: "small number",
    due_at: "number",
    "claimed_by?": WORD,
  },
  indexes: [{ name: "by_turn", columns: ["destination", "turn", "due_at", "head"] }],
};

const MIGRATIONS: Table = {
  name: "migrations",
  primaryKey: "version",
  columns: { version: "number", made_at: "number" },
  indexes: [],
};

/** The tables of each version, which are made if they are missing. Fixed once published. */
const VERSIONS: readonly (readonly Table[])[] = [[MIGRATIONS, EVENTS, QUEUES]];

export const NEWEST_VERSION = VERSIONS.length;

/**
 * The statements that lead to a version from the one before it. Each can be run again.
 *
 * @param create gives the statements that make a table and its indexes.
 */
export function statementsTo(
  version: number,
  { migrations, now }: Pick<Words, "migrations" | "now">,
  create: (table: Table) => readonly string[],
): string[] {
  const tables = VERSIONS[version - 1] ?? [];
  return [
    ...tables.flatMap(create),
    `insert into ${migrations} (version, made_at) select ${version}, ${now} from (select 1 as one) as once
     where not exists (select 1 from ${migrations} where version = ${version})`,
  ];
}

/**
 * For a dialect's `create`: a table and its indexes, some of them partial.
 *
 * @param schema before the table's name, with its dot; "" if there is none.
 * @param end after its columns.
 */
export function tableWith(
  table: Table,
  typeOf: (type: ColumnType) => string,
  { schema = "", end = "" },
): string[] {
  const name = `${schema}${table.name}`;
  return [
    `create table if not exists ${name} (${columnsOf(table, typeOf).join(",\n  ")})${end}`,
    ...table.indexes.map(
      ({ name: index, columns, where }) =>
        `create index if not exists ${table.name}_${index} on ${name} (${columns.join(", ")})${where ? ` where ${where}` : ""}`,
    ),
  ];
}

/** For a dialect's `create`: the lines between the brackets, and whether a column may be null. */
export function columnsOf(
  { primaryKey, columns, unique }: Table,
  typeOf: (type: ColumnType) => string,
): string[] {
  const lines = Object.entries(columns).map(([name, type]) => {
    const constraint = name.endsWith("?") ? "" : " not null";
    return `${name.replace("?", "")} ${typeOf(type)}${type === "sequence" ? "" : constraint}`;
  });
  const isSequence = columns[primaryKey] === "sequence";
  return [
    ...lines,
    ...(isSequence ? [] : [`primary key (${primaryKey})`]),
    ...(unique ? [`unique (${unique.join(", ")})`] : []),
  ];
}
