import { expect, test } from "vitest";
import { type Clock, systemClock } from "../../../src/shared/clock.js";
import { sample } from "../../../src/testing/contract/samples.js";
import { Stage } from "../../../src/testing/contract/stage.js";
import { describeWithMariaDb } from "../../helpers/mysql.js";

describeWithMariaDb("leases", (database) => {
  const { create } = database;

  test("a lease is renewed without waiting for another event's row, and what is locked is not taken for lost", async () => {
    let wall = 0;
    const clock: Clock = { now: () => wall, monotonic: () => 0, after: systemClock.after };
    await using stage = await Stage.open(() => create({ leaseMs: 1_000 }, clock));
    stage.start();
    await stage.add(sample("payment"), sample("payment"));
    const [locked, free] = [await stage.delivery.next(), await stage.delivery.next()];
    const connection = await database.pool().getConnection();
    await connection.beginTransaction();
    await connection.query(
      `select 1 from \`${database.prefix}events\` force index (primary)
       where seq = (select seq from (select seq from \`${database.prefix}events\` where id = x'${locked.id}') as one) for update`,
    );
    wall = 900;

    await expect.poll(() => free.live.isHeld?.()).toBe(true);
    expect(locked.live.isHeld?.()).toBe(false);
    await connection.commit();
    connection.release();
    await expect.poll(() => locked.live.isHeld?.()).toBe(true);
  });
});
