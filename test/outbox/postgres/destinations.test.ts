import { expect, test } from "vitest";
import { DESTINATION, sample, stranger } from "../../../src/testing/contract/samples.js";
import { Stage } from "../../../src/testing/contract/stage.js";
import { describeWithPostgres } from "../../helpers/postgres.js";

const ELSEWHERE = "43:https://sandbox.example";

describeWithPostgres("destinations", (database) => {
  const { create, reopen, sql } = database;

  test("two open transactions that are the first to report for a destination do not wait for each other", async () => {
    const outbox = await create();
    const pool = database.pool();
    const clients = [await pool.connect(), await pool.connect()];
    for (const client of clients) await client.query("begin isolation level repeatable read");
    // Their snapshots are older than any row of a destination.
    for (const client of clients) await client.query("select 1");

    for (const transaction of clients) {
      expect(await outbox.add({ ...sample("payment"), destination: ELSEWHERE }, { transaction })).toBe(
        "queued",
      );
    }
    for (const client of clients) {
      await client.query("commit");
      client.release();
    }

    await expect.poll(() => sql("select name from $schema.destinations")).toEqual([{ name: ELSEWHERE }]);
    expect((await outbox.look()).byDestination).toEqual({ [ELSEWHERE]: 2 });
    await outbox.close();
  });

  test("an outbox that was not started counts and lists all destinations, each by its name", async () => {
    const outbox = await create();
    await outbox.add(sample("click"));
    await outbox.add({ ...sample("payment"), destination: ELSEWHERE });
    await outbox.close();

    const onlooker = await reopen();
    const counts = await onlooker.look();

    expect(counts.byDestination).toEqual({ [DESTINATION]: 1, [ELSEWHERE]: 1 });
    expect(counts.queued).toBe(2);
    await onlooker.close();
  });

  test("hands over hundreds of events in the order in which they were reported, and none that is under way", async () => {
    const visitor = stranger();
    const theirs = Array.from({ length: 130 }, () => ({
      ...sample("payment", visitor),
      destination: ELSEWHERE,
    }));
    await using before = await Stage.open(() => create(), ELSEWHERE);
    before.delivery.capacity = 1;
    before.start();
    await before.add(...theirs);
    const underWay = await before.delivery.next();
    await using stage = await Stage.open(() => reopen());
    // The visitor's own of the new destination goes first: it was there before.
    const own = sample("click", visitor);
    await stage.add(own);

    expect(await stage.outbox.handOver?.(ELSEWHERE, DESTINATION)).toBe(theirs.length - 1);
    expect(await stage.outbox.handOver?.(DESTINATION, DESTINATION)).toBe(0);
    underWay.settle({ type: "delivered" });
    stage.start();

    expect(await stage.delivery.deliverNext()).toBe(own.id);
    for (const { id } of theirs.slice(1)) expect(await stage.delivery.deliverNext()).toBe(id);
    await before.empty();
    expect(before.delivery.ids).toEqual([underWay.id]);
  });
});
