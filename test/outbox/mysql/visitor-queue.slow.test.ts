import { expect, test } from "vitest";
import { openDatabase } from "../../../src/outbox/mysql/database.js";
import { createInheritance } from "../../../src/outbox/mysql/urgency.js";
import { createVisitorQueue } from "../../../src/outbox/mysql/visitor-queue.js";
import { retryIn } from "../../contract/recorder.js";
import { paying, sample, stranger } from "../../contract/samples.js";
import { Stage } from "../../contract/stage.js";
import { around, describeWithMariaDb } from "../../helpers/mysql.js";

describeWithMariaDb("the line of a visitor", (database) => {
  const { create, reopen, sql } = database;

  test("is kept by processes that claim at the same moment, whatever they see of each other", async () => {
    const visitors = Array.from({ length: 4 }, stranger);
    const underWay = new Map<string, string>();
    const gone: string[] = [];
    const overlaps: string[] = [];
    const stages: Stage[] = [];
    for (let nth = 0; nth < 4; nth++) {
      const stage = await Stage.open(() => (nth === 0 ? create() : reopen()));
      stage.delivery.capacity = 8;
      stage.delivery.each(({ live: { event }, settle }) => {
        const { sessionId = "" } = event.data;
        if (underWay.has(sessionId)) overlaps.push(event.id);
        underWay.set(sessionId, event.id);
        setImmediate(() => {
          underWay.delete(sessionId);
          gone.push(event.id);
          settle({ type: "delivered" });
        });
      });
      stage.start();
      stages.push(stage);
    }
    const events = Array.from({ length: 120 }, (_, nth) => sample("payment", visitors[nth % 4]));

    // Each in a transaction of its own, so that commits and claims meet in every order.
    const pool = database.pool({ connectionLimit: 8 });
    await Promise.all(
      events.map(async (event, nth) => {
        const host = await database.begin(undefined, pool);
        await stages[nth % 4]?.outbox.add(event, host);
        await host.end("commit");
      }),
    );

    await expect.poll(() => gone.length, { timeout: 30_000 }).toBe(events.length);
    expect(overlaps).toEqual([]);
    expect(new Set(gone).size).toBe(events.length);
    for (const stage of stages) await stage[Symbol.asyncDispose]();
  }, 60_000);

  test("goes on if an event is committed after a later one of its visitor was tried: that one first", async () => {
    await using stage = await Stage.open(() => create());
    const visitor = stranger();
    const [earlier, tried] = [sample("payment", visitor), sample("registration", visitor)];
    const host = await database.begin();
    await stage.outbox.add(earlier, host);
    (await stage.handOver(tried)).settle(retryIn(300, { triedAt: 7 }));
    await host.end("commit");

    await stage.delivers(tried, earlier);
  });

  test("parks a visitor's backlog once, however long it is", async () => {
    await using stage = await Stage.open(() => create());
    const events = Array.from({ length: 100 }, () => sample("payment", { clickId: "one" }));
    await Promise.all(events.map((event) => stage.outbox.add(event)));
    stage.delivery.capacity = 1;
    stage.start();
    const first = await stage.delivery.next();
    const other = sample("click");
    stage.delivery.capacity = 1;
    await stage.add(other);
    await stage.delivers(other);

    const parked = await sql("select count(*) as n from $queued where due_at is null");
    expect(parked).toEqual([{ n: 99 }]);
    first.settle({ type: "delivered" });
    await stage.delivers(...events.slice(1));
  });

  test("lets a click go with the payments, however much was reported while no process claimed", async () => {
    await using stage = await Stage.open(() => create());
    const [click, , payment] = paying();
    const others = Array.from({ length: 600 }, () => sample("payment"));
    await Promise.all([sample("click"), sample("click"), click].map((event) => stage.add(event)));
    await Promise.all(others.map((event) => stage.add(event)));
    await stage.add(payment);
    stage.delivery.lanes = [{ endpoint: "click", limit: 1 }];
    stage.start();

    await stage.delivers(click);
  });

  test("goes on if a process died between the removal of an event and the turn of the next", async () => {
    const visitor = stranger();
    const [first, second] = [sample("click", visitor), sample("payment", visitor)];
    {
      await using stage = await Stage.open(() => create());
      stage.delivery.capacity = 1;
      await stage.handOver(first, second);
      stage.delivery.capacity = 1;
      await stage.add(sample("click"));
      await stage.delivery.deliverNext();
    }
    await sql("update $prefixevents set due_at = null where kind = 'payment'");
    await sql("delete from $prefixevents where kind = 'click'");

    const opened = openDatabase(database.pool(), { prefix: database.prefix, migrate: false });
    const inheritance = createInheritance(opened, () => {});
    await createVisitorQueue(opened, inheritance).heal(second.destination);

    await using next = await Stage.open(() => reopen());
    next.start();
    await next.delivers(second);
  });

  test("claims again, as new, what it claimed in a request whose next statement failed", async () => {
    let isLost = false;
    const pool = around(database.pool(), async (run, text) => {
      const result = await run();
      if (isLost || !text.includes("set due_at = null")) return result;
      isLost = true;
      throw new Error("Connection lost: The server closed the connection.");
    });
    await using stage = await Stage.open(() => create({ pool }));
    stage.delivery.expectsFailures = true;
    const visitor = stranger();
    const events = [sample("payment", visitor), sample("payment", visitor)] as const;
    await stage.add(...events);
    stage.start();

    for (const event of events) {
      const { live, settle } = await stage.delivery.next();
      expect(live).toMatchObject({ event, interrupted: false });
      settle({ type: "delivered" });
    }
    expect(isLost).toBe(true);
  });
});
