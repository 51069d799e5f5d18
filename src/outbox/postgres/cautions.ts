import type { Database } from "./database.js";

/** The settings by which a report in the host's own transaction may be lost after the commit, in words. */
export async function cautionsOf(database: Database): Promise<string[]> {
  const [row] = await database.query<{ setting: string; has_standby: boolean }>(
    `select current_setting('synchronous_commit') as setting, current_setting('synchronous_standby_names') <> '' as has_standby`,
  );
  // Without a standby that commits wait for, all settings but "off" write a commit to the disk before it is answered.
  if (row?.setting === "off") return [cautionOf(row.setting, "the server ends without warning")];
  if (row?.setting === "local" && row.has_standby) return [cautionOf(row.setting, "a standby is promoted")];
  return [];
}

function cautionOf(setting: string, when: string): string {
  return `postgresOutbox: synchronous_commit is ${setting}: where ${when}, a report in your own transaction is lost with that transaction, although its commit was answered. The outbox's own transactions are safe. If you pass transactions to reports, set it to on there (docs/transactions.md, "How durable it is")`;
}
