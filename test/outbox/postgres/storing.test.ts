import { expect, test } from "vitest";
import { LOOKS_ON_CLOSING_MS } from "../../../src/outbox/queue/append.js";
import { systemClock } from "../../../src/shared/clock.js";
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

  test.each([
    ["with it where the transaction ends", true],
    ["without it where the transaction stays open", false],
  ])(
    "closes while an event waits for the transaction that reports it, too, %s, and stores the others",
    async (_, ends) => {
      const after = (ms: number, task: () => void) =>
        systemClock.after(ms === LOOKS_ON_CLOSING_MS ? 60_000 : ms, task);
      // If the transaction ends, closing waits for that, however long it takes.
      const outbox = await create({}, ends ? { ...systemClock, after } : systemClock);
      const event = sample("payment");
      const host = await database.begin();
      await outbox.add(event, host);
      const held = outbox.add(event);
      const added = Promise.all(Array.from({ length: 501 }, () => outbox.add(sample("click"))));

      const closing = outbox.close();
      expect(new Set(await added)).toEqual(new Set(["queued"]));
      if (ends) await host.end("commit");
      await closing;

      expect(await held).toBe(ends ? "duplicate" : "in-memory");
      expect(outbox.durable).toBe(ends);
      expect(await sql("select count(*)::int as n from $schema.events")).toEqual([{ n: ends ? 502 : 501 }]);
      if (!ends) await host.end("commit");
    },
  );
});
