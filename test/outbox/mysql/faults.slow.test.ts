import { expect, test } from "vitest";
import { sample } from "../../contract/samples.js";
import { Stage } from "../../contract/stage.js";
import { describeWithMariaDbServer } from "../../helpers/mysql.js";
import { testFaults } from "../queue/faults.js";

const VICTIM = `
import { mysqlOutbox } from "express-affiliate/mysql";
import mysql from "mysql2/promise";

export const outboxOf = (uri, prefix) => mysqlOutbox({ pool: mysql.createPool(uri), prefix, leaseMs: 1_000 });
`;

describeWithMariaDbServer("mysqlOutbox", (database) => {
  const { create, sql } = database;

  testFaults(database, {
    victim: {
      program: VICTIM,
      driver: "mysql2",
      args: () => [database.server.uri, database.prefix],
    },
  });

  test("a payment that was held although it was never sent is queued again", async () => {
    await using stage = await Stage.open(() => create({ leaseMs: 1_000 }));
    const event = sample("payment");
    const late = await stage.handOver(event);
    await sql(
      `update $prefixevents set state = 3, reason = 'unconfirmed',
         death = '{"reason":"unconfirmed","code":"ERR_INTERRUPTED","attempts":1}'`,
    );
    await sql("delete from $prefixqueues");
    await expect.poll(() => late.live.isHeld?.()).toBe(false);

    late.settle({ type: "release" });

    expect((await stage.delivery.next()).live).toMatchObject({ event, interrupted: false });
  });
});
