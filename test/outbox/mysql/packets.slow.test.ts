import { expect, test } from "vitest";
import { idsOf, largeSample, sample } from "../../contract/samples.js";
import { Stage } from "../../contract/stage.js";
import { describeWithMariaDbServer } from "../../helpers/mysql.js";

const LEAST = 1024 * 1024;

describeWithMariaDbServer(
  "a server with a small max_allowed_packet",
  (database) => {
    const { create, sql } = database;

    test("is said to be too small, and takes what waited once it takes larger packets", async () => {
      await using stage = await Stage.open(() => create({ migrate: false, pool: database.pool() }));
      stage.delivery.expectsFailures = true;
      stage.start();
      const events = [sample("payment"), sample("click")];
      for (const event of events) expect(await stage.outbox.add(event)).toBe("in-memory");
      expect(stage.outbox.counts().trouble).toMatch(
        /^mysqlOutbox: max_allowed_packet is 65536, and the outbox needs at least 1048576: /,
      );

      await sql(`set global max_allowed_packet = ${LEAST}`);
      await (await database.reopen({ pool: database.pool() })).close();

      expect(idsOf(await stage.take(2)).sort()).toEqual(idsOf(events).sort());
    });

    test("gets no statement that is larger, however large the reports are", async () => {
      await sql(`set global max_allowed_packet = ${LEAST}`);
      // It throws as soon as the server refuses one.
      await using stage = await Stage.open(() => create({ pool: database.pool() }));
      stage.hold();
      const events = Array.from({ length: 64 }, () => largeSample("click", 20_000));

      await Promise.all(events.map((event) => stage.add(event)));

      await expect.poll(() => sql("select count(*) as number from $prefixevents")).toEqual([{ number: 64 }]);
      expect(await stage.outbox.add(events[3] as never)).toBe("duplicate");
    });
  },
  { "max-allowed-packet": 64 * 1024 },
);
