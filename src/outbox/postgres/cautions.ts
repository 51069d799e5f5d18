import type { Statements } from "../queue/database.js";

/** Warns if a setting may lose the host's own transaction, with its report, after its commit. */
export async function cautionsOf({ rows }: Statements): Promise<string[]> {
  const [row] = await rows<{ setting: string }>("select current_setting('synchronous_commit') as setting");
  // All others write a commit to the server's disk before the answer.
  if (row?.setting !== "off") return [];
  return [
    `postgresOutbox: synchronous_commit is off: if the server crashes, your own transaction may be lost with its report, although its commit was answered. The outbox's own transactions are safe. If you pass transactions to reports, set it to on there (docs/transactions.md, "How durable it is")`,
  ];
}
