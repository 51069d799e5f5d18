import { expect, test } from "vitest";
import { sample } from "../../../src/testing/contract/samples.js";
import { Stage } from "../../../src/testing/contract/stage.js";
import { describeWithMariaDb } from "../../helpers/mysql.js";

const SMALL = 64 * 1024;
const LEAST = 1024 * 1024;

describeWithMariaDb(
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

      const ids = [await stage.delivery.deliverNext(), await stage.delivery.deliverNext()];
      expect(ids.sort()).toEqual(events.map(({ id }) => id).sort());
    });

    test("gets no statement that is larger, however large the reports are", async () => {
      await sql(`set global max_allowed_packet = ${LEAST}`);
      // It throws as soon as the server refuses one.
      await using stage = await Stage.open(() => create({ pool: database.pool() }));
      stage.hold();
      const large = () => {
        const { data, ...rest } = sample("click");
        return { ...rest, data: { ...data, referrerUrl: `https://shop.example/${"x".repeat(20_000)}` } };
      };
      const events = Array.from({ length: 64 }, large);

      await Promise.all(events.map((event) => stage.add(event as never)));

      await expect.poll(() => sql("select count(*) as number from $prefixevents")).toEqual([{ number: 64 }]);
      expect(await stage.outbox.add(events[3] as never)).toBe("duplicate");
    });
  },
  { "max-allowed-packet": SMALL },
);
