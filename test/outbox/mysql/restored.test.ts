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

test("a write is committed though the host has turned `autocommit` off since the connection was used first", async () => {
  const asked: string[] = [];
  let serverStatus = 2;
  const connection = {
    async query({ sql }: { sql: string }): Promise<[unknown, unknown]> {
      asked.push(sql);
      if (sql.startsWith("select @@")) return [[{ autocommit: 1, patience: 50, packet: 2 ** 24 }], []];
      return [sql.startsWith("select") ? [{ version: 1 }] : { affectedRows: 1, serverStatus }, []];
    },
    release: () => asked.push("release"),
  };
  const pool = { getConnection: async () => connection };
  const database = openDatabase(pool as never, { prefix: "affiliate_", migrate: false });
  expect(await database.write("delete from events")).toBe(1);
  expect(asked.slice(-2)).toEqual(["delete from events", "release"]);

  serverStatus = 0;
  expect(await database.write("delete from events")).toBe(1);
  expect(asked.slice(-3)).toEqual(["delete from events", "commit", "release"]);
});
