import { expect, test } from "vitest";
import { openDatabase } from "../../../src/outbox/mysql/database.js";
import { repeatWhereLost } from "../../../src/outbox/queue/connections.js";

type Failures = Readonly<Record<string, number>>;

/** A database behind connections that fail at some statements with these numbers. Asked: all they get. */
async function databaseOver(...all: readonly Failures[]) {
  const asked: string[] = [];
  const connections = all.map((failures) => ({
    async query({ sql }: { sql: string }): Promise<[unknown, unknown]> {
      asked.push(sql);
      if (sql in failures) throw Object.assign(new Error("simulated"), { errno: failures[sql] });
      return [[{ version: 1, patience: 50, packet: 2 ** 24 }], []];
    },
    release: () => asked.push("release"),
    destroy: () => asked.push("destroy"),
  }));
  let taken = 0;
  const getConnection = async () => connections[Math.min(taken++, all.length - 1)];
  const database = openDatabase({ getConnection } as never, { prefix: "affiliate_", migrate: false });
  await database.ready();
  return { database, asked, ends: () => asked.filter((each) => /^(release|destroy)$/.test(each)) };
}

test.each(["rollback", "set innodb_lock_wait_timeout = 50"])(
  "a connection on which %s fails does not go back to the host's pool",
  async (failing) => {
    const { database, ends } = await databaseOver({}, { [failing]: 1114 });
    const fails = async () => {
      throw Object.assign(new Error("too long"), { errno: 1205 });
    };

    await expect(database.transaction(fails, { isPatient: false })).rejects.toThrow();
    expect(ends()).toEqual(["release", "destroy"]);
  },
);

test("a connection that the host has given back within a transaction is replaced", async () => {
  const isWithin = { "set transaction isolation level read committed": 1568 };
  const { database, ends } = await databaseOver({}, isWithin, {});

  const store = () => database.transaction(async () => "stored");
  expect(await repeatWhereLost(store, database.isLost)).toBe("stored");
  expect(ends()).toEqual(["release", "destroy", "release"]);
});

test("a read ends its snapshot, whether or not the host has turned `autocommit` off", async () => {
  const { database, asked } = await databaseOver({});
  expect(asked.slice(-2)).toEqual(["rollback", "release"]);

  await database.rows("select 1");
  expect(asked.slice(-3)).toEqual(["select 1", "rollback", "release"]);
});
