import { expect, test } from "vitest";
import { openDatabase } from "../../../src/outbox/mysql/database.js";
import { repeatWhereLost } from "../../../src/outbox/queue/connections.js";

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

test("a connection that the host has given back within a transaction is replaced", async () => {
  const ended: string[] = [];
  const connectionOf = (isWithin: boolean) => ({
    async query({ sql }: { sql: string }): Promise<[unknown, unknown]> {
      if (isWithin && sql.startsWith("set transaction"))
        throw Object.assign(new Error("a transaction is in progress"), { errno: 1568 });
      if (sql.startsWith("select @@")) return [[{ autocommit: 1, patience: 50, packet: 2 ** 24 }], []];
      return [[{ version: 1 }], []];
    },
    release: () => ended.push("released"),
    destroy: () => ended.push("destroyed"),
  });
  const connections = [connectionOf(false), connectionOf(true), connectionOf(false)];
  const pool = { getConnection: async () => connections.shift() };
  const database = openDatabase(pool as never, { prefix: "affiliate_", migrate: false });
  await database.ready();

  const store = () => database.transaction(async () => "stored");
  expect(await repeatWhereLost(store, database.isLost)).toBe("stored");
  expect(ended).toEqual(["released", "destroyed", "released"]);
});

test("a read ends its snapshot, whether or not the host has turned `autocommit` off", async () => {
  const asked: string[] = [];
  const connection = {
    async query({ sql }: { sql: string }): Promise<[unknown, unknown]> {
      asked.push(sql);
      return [[{ version: 1, packet: 2 ** 24 }], []];
    },
    release: () => asked.push("release"),
  };
  const pool = { getConnection: async () => connection };
  const database = openDatabase(pool as never, { prefix: "affiliate_", migrate: false });
  await database.ready();
  expect(asked.slice(-2)).toEqual(["commit", "release"]);

  await database.rows("select 1");
  expect(asked.slice(-3)).toEqual(["select 1", "commit", "release"]);
});
