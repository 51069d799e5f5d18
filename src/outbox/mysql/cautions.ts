import type { Statements } from "../queue/database.js";

// 3, of MariaDB, writes a commit to the disk as 1 does.
const DURABLE = new Set([1, 3]);

/** By which settings the server may lose commits, in words. */
export async function cautionsOf({ rows }: Statements): Promise<string[]> {
  const [row] = await rows<Record<"flush" | "has_binlog" | "sync_binlog", number>>(
    `select @@global.innodb_flush_log_at_trx_commit as flush, @@global.log_bin as has_binlog, @@global.sync_binlog as sync_binlog`,
  );
  const flush = Number(row?.flush);
  const syncBinlog = Number(row?.sync_binlog);
  const cautions: string[] = [];
  if (!DURABLE.has(flush)) {
    const whose = flush === 0 ? "the server's process or its machine" : "the server's machine";
    cautions.push(cautionOf("innodb_flush_log_at_trx_commit", flush, whose));
  }
  if (Number(row?.has_binlog) === 1 && syncBinlog !== 1) {
    cautions.push(cautionOf("sync_binlog", syncBinlog, "the server's machine"));
  }
  return cautions;
}

function cautionOf(setting: string, value: number, whose: string): string {
  return `mysqlOutbox: ${setting} is ${value}: if ${whose} ends without warning, what was committed last is lost. A payment that was queued then is missing, and one that was delivered then may be sent again. Set it to 1 (docs/mysql.md, "Durability")`;
}
