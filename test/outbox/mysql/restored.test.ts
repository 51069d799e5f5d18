import { expect, test } from "vitest";
import { openDatabase } from "../../../src/outbox/mysql/database.js";

test.each(["rollback", "set innodb_lock_wait_timeout = 50"])(
  "a connection on which %s fails does not go back to the host's pool",
  async (failing) => {
    const ended: string[] = [];
    const connection = {
      async query({ sql }: { sql: string }): Promise<[unknown, unknown]> {
        if (sql === failing) throw Object.assign(new Error("the table is full"), { errno: 1114 });
        if (sql.startsWith("select @@")) return [[{ autocommit: 1, patience: 50, packet: 2 ** 24 }], []];
        return [[{ version: 1 }], []];
      },
      release: () => ended.push("released"),
      destroy: () => ended.push("destroyed"),
    };
    const pool = { getConnection: async () => connection };
    const database = openDatabase(pool as never, { prefix: "affiliate_", migrate: false });
    await database.ready();
    const fails = async () => {
      throw Object.assign(new Error("too long"), { errno: 1205 });
    };

    await expect(database.transaction(fails, { isPatient: false })).rejects.toThrow();
    expect(ended).toEqual(["released", "destroyed"]);
  },
);
