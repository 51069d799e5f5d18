import type { Database } from "./database.js";

/** Warnings about settings that may lose the host's own transaction, with its report, after the commit. */
export async function cautionsOf(database: Database): Promise<string[]> {
  const [row] = await database.query<{ setting: string; has_standby: boolean }>(
    `select current_setting('synchronous_commit') as setting, current_setting('synchronous_standby_names') <> '' as has_standby`,
  );
  // Every setting but "off" writes a commit to the server's disk before it is answered. "local" does not wait for a standby.
  if (row?.setting === "off") return [cautionOf(row.setting, "the server crashes")];
  if (row?.setting === "local" && row.has_standby) return [cautionOf(row.setting, "a standby is promoted")];
  return [];
}

function cautionOf(setting: string, when: string): string {
  return `postgresOutbox: synchronous_commit is ${setting}: if ${when}, your own transaction may be lost with its report, although its commit was answered. The outbox's own transactions are safe. If you pass transactions to reports, set it to on there (docs/transactions.md, "How durable it is")`;
}
