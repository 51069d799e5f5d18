import { USUAL, type Value, type Words } from "../queue/database.js";
import { type ColumnType, columnsOf, type Table } from "../queue/tables.js";

/** Milliseconds since the epoch; by UTC, so that no time zone matters. */
export const NOW = "(timestampdiff(microsecond, timestamp'1970-01-01 00:00:00', utc_timestamp(3)) div 1000)";

const TYPES: Record<Exclude<ColumnType, object>, string> = {
  sequence: "bigint not null auto_increment primary key",
  number: "bigint",
  "small number": "smallint",
  amount: "double",
  "long text": "mediumtext",
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
    queueAlias: "",
    orUpdate: "on duplicate key update",
    old: (column) => column,
    given: (column) => `values(${column})`,
  };
}

export function createTable(prefix: string, table: Table): string[] {
  const typeOf = (type: ColumnType) => (typeof type === "object" ? `varchar(${type.atMost})` : TYPES[type]);
  const keys = table.indexes.map(({ name, columns }) => `key ${name} (${columns.join(", ")})`);
  const lines = [...columnsOf(table, typeOf), ...keys].join(",\n  ");
  return [
    `create table if not exists \`${prefix}${table.name}\` (
  ${lines}
) engine = InnoDB row_format = dynamic default charset = ascii collate = ascii_bin`,
  ];
}

/**
 * The text with its values: it runs on any driver, in any library's transaction, whatever `sql_mode`
 * says of quotes and backslashes.
 */
export function withValues(text: string, values: readonly Value[] = []): string {
  let nth = 0;
  return text.replaceAll("?", () => literal(values[nth++] ?? null));
}

function literal(value: Value): string {
  if (value === null) return "null";
  if (typeof value === "number") return value < 0 ? `(${value})` : String(value);
  const isPlain = /^[ !"#%&(->@-[\]-~]*$/.test(value);
  return isPlain ? `_ascii'${value}'` : `_ascii x'${Buffer.from(value, "latin1").toString("hex")}'`;
}
