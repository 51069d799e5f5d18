import { expect, test } from "vitest";
import { receiptTimes } from "../../../src/outbox/fallback.js";
import { idsOf, paying, sample } from "../../contract/samples.js";
import { run } from "../../helpers/deliver.js";
import { around, describeWithPostgres } from "../../helpers/postgres.js";

describeWithPostgres("postgresOutbox", (database) => {
  const { create, sql } = database;

  test.each([
    ["is cut between them", 1, "queued"],
    ["is cut each time that it is repeated", 3, "in-memory"],
  ] as const)(
    "a registration does not overtake its click when the connection %s",
    async (_, cuts, outcome) => {
      const waiting: (() => void)[] = [];
      let left: number = cuts;
      const cutting = around(database.pool(), async (run, text) => {
        if (left === 0 || !text.startsWith("with n (name)")) return run();
        if (left-- === cuts) await new Promise<void>((resolve) => waiting.push(resolve));
        throw new Error("Connection terminated unexpectedly");
      });
      const outbox = await create({ pool: cutting });
      const { delivered } = run(outbox);
      const [click, ...later] = paying();
      const added = [outbox.add(click)];
      await expect.poll(() => waiting).toHaveLength(1);
      added.push(...later.map((event) => outbox.add(event)));
      waiting[0]?.();

      expect(await Promise.all(added)).toEqual([outcome, outcome, outcome]);
      await expect.poll(() => delivered, { timeout: 15_000 }).toEqual(idsOf([click, ...later]));
    },
  );

  test("closes once the transaction has ended that an event waits for, and stores the others meanwhile", async () => {
    const outbox = await create();
    const event = sample("payment");
    const host = await database.begin();
    await outbox.add(event, host);
    const { withinMs } = receiptTimes;
    receiptTimes.withinMs = 10;
    const held = outbox.add(event);
    receiptTimes.withinMs = withinMs;
    const added = Promise.all(Array.from({ length: 501 }, () => outbox.add(sample("click"))));

    const closing = outbox.close();
    expect(new Set(await added)).toEqual(new Set(["queued"]));
    expect(await held).toBe("in-memory");
    expect(outbox.durable).toBe(false);
    await host.end("commit");
    await closing;

    expect(outbox.durable).toBe(true);
    expect(await sql("select count(*)::int as n from $schema.events")).toEqual([{ n: 502 }]);
  });
});
