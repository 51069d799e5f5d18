import type { Statements } from "../queue/database.js";

/** Warns if a setting may lose the host's own transaction, with its report, after its commit. */
export async function cautionsOf({ rows }: Statements): Promise<string[]> {
  const [row] = await rows<{ setting: string; has_standby: boolean }>(
    `select current_setting('synchronous_commit') as setting, current_setting('synchronous_standby_names') <> '' as has_standby`,
  );
  // All but "off" write a commit to the server's disk before the answer. "local" awaits no standby.
  if (row?.setting === "off") return [cautionOf(row.setting, "the server crashes")];
  if (row?.setting === "local" && row.has_standby) return [cautionOf(row.setting, "a standby is promoted")];
  return [];
}

function cautionOf(setting: string, when: string): string {
  return `postgresOutbox: synchronous_commit is ${setting}: if ${when}, your own transaction may be lost with its report, although its commit was answered. The outbox's own transactions are safe. If you pass transactions to reports, set it to on there (docs/transactions.md, "How durable it is")`;
}
