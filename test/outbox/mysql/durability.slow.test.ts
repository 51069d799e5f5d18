import { expect, test } from "vitest";
import { describeWithMariaDbServer } from "../../helpers/mysql.js";
import { trackerWithLines } from "../../helpers/tracker.js";

const DURABLE = { flush: 1, sync: 1 };

describeWithMariaDbServer(
  "what MariaDB's settings let mysqlOutbox lose",
  (database) => {
    const { create, sql } = database;

    async function createWith({ flush, sync }: typeof DURABLE) {
      await sql(`set global innodb_flush_log_at_trx_commit = ${flush}`);
      await sql(`set global sync_binlog = ${sync}`);
      return create();
    }

    test.each([
      [
        "is lost with the process or the machine",
        { ...DURABLE, flush: 0 },
        "innodb_flush_log_at_trx_commit is 0: if the server's process or its machine ends",
      ],
      [
        "is lost with the machine",
        { ...DURABLE, flush: 2 },
        "innodb_flush_log_at_trx_commit is 2: if the server's machine ends",
      ],
      ["is not in the binary log", { ...DURABLE, sync: 0 }, "sync_binlog is 0: if the server's machine ends"],
      [
        "is not always in the binary log",
        { ...DURABLE, sync: 100 },
        "sync_binlog is 100: if the server's machine ends",
      ],
    ])("is told in the log if what was committed %s", async (_, settings, words) => {
      const { lines } = trackerWithLines({ outbox: await createWith(settings) });

      await expect.poll(() => lines).toHaveLength(1);
      expect(lines[0]).toContain(`mysqlOutbox: ${words} without warning`);
    });

    test.each([1, 3])(
      "is nothing if innodb_flush_log_at_trx_commit is %i and sync_binlog is 1",
      async (flush) => {
        expect(await (await createWith({ ...DURABLE, flush })).cautions()).toEqual([]);
      },
    );
  },
  { "log-bin": "binlog" },
);
