import type { OutboxEvent } from "express-affiliate";
import { expect, test } from "vitest";
import { HELD } from "../../../src/outbox/dead-letters.js";
import type { Outbox } from "../../../src/outbox/outbox.js";
import {
  DESTINATION,
  idsOf,
  LONG_MS,
  sample,
  sampleOf,
  scheduledSample,
  stranger,
  withData,
} from "../../contract/samples.js";
import { onStage, REJECTED, retryIn, Stage } from "../../contract/stage.js";
import { run } from "../../helpers/deliver.js";
import { reportIn, type SqlDatabase } from "../../helpers/sql-database.js";

const TEXTS = [
  "a\u0000b",
  "\u{1F600} łódź",
  "\ud800",
  "'; drop table events; --",
  "{null}",
  '\\ "',
  "'' \\' %_?",
];

/** Texts in events and in dead letters stay as they are, whatever the session's settings. */
export async function expectTextsKept(stage: Stage): Promise<void> {
  const visitor = stranger();
  for (const customerName of TEXTS) {
    const odd = withData(sample("registration", visitor), { customerName });
    const before = Date.now();
    const { live, settle } = await stage.handOver(odd, sample("payment", visitor));
    expect(live.event).toEqual(odd);
    settle({ type: "dead", ...REJECTED, message: customerName });
    (await stage.delivery.next()).settle(retryIn(1));
    await stage.delivery.deliverNext();
    await stage.empty();
    const letter = (await stage.outbox.deadLetters.list()).at(-1);
    expect(Math.abs((letter?.diedAt as number) - before)).toBeLessThan(60_000);
  }
  expect((await stage.outbox.deadLetters.list()).map(({ message }) => message)).toEqual(TEXTS);
}

/** What operators do with the tables, in either database. */
export function testOperations<Pool>(
  database: SqlDatabase<Pool>,
  about: {
    /** Names the newest outbox's tables. */
    name: (tables: string) => void;
    /** Takes tables away. */
    drop: string;
    /** A pool of another process, with another default isolation if the server takes that. */
    another: () => Pool;
    /** Runs the SQL that the package gives for these tables. */
    makeByHand: () => Promise<unknown>;
    /** Resolves to the pool of a user with no more rights than the docs name. */
    limited: () => Promise<Pool>;
  },
): void {
  const { create, reopen, sql, upkeep } = database;
  const { name, drop, another, makeByHand, limited } = about;
  const it = onStage(() => create());
  const listOf = (events: readonly OutboxEvent[]) => events.map(({ id }) => `'${id}'`).join();
  /** Makes known ids so many days older. */
  const age = (days: number, events: readonly OutboxEvent[]) =>
    sql(`update $t.events set at_ms = at_ms - ${days * 86_400_000} where id in (${listOf(events)})`);

  test("several processes that start at the same moment make the tables once", async () => {
    name("at_once_");

    await Promise.all(Array.from({ length: 4 }, () => reopen({ pool: another() })));

    expect(await sql("select version + 0 as version from $t.migrations")).toMatchObject([
      { version: expect.anything() },
    ]);
  });

  test("makes no tables with `migrate: false`, and stores what waited once they are made", async () => {
    name("by_hand_");
    const outbox = await reopen({ migrate: false });

    expect(await outbox.add(sample("payment"))).toBe("in-memory");
    expect(outbox.counts()).toMatchObject({
      queued: 1,
      trouble: expect.stringMatching(/"by_hand_…?" are missing.*Migrations\("by_hand_"\)/),
    });
    await makeByHand();

    await expect.poll(() => outbox.durable, { timeout: 10_000 }).toBe(true);
    expect(await sql("select kind from $t.events")).toEqual([{ kind: 3 }]);
  });

  test("makes tables again that have gone, and delivers what waited", async () => {
    const outbox = await create();
    await sql(drop);
    const { delivered, said } = run(outbox);
    const event = sample("payment");

    expect(await outbox.add(event)).toBe("in-memory");
    const says = /are not as they were made/;
    expect(said).toEqual([expect.stringMatching(/^ERR_AFFILIATE_\w+_TABLES .*are not as they were made/s)]);
    expect(outbox.counts().trouble).toMatch(says);
    await expect.poll(() => delivered, { timeout: 15_000 }).toEqual([event.id]);
  });

  test("leaves tables alone that a later version made", async () => {
    await (await create()).close();
    await sql("insert into $t.migrations (version, made_at) select 2, made_at from $t.migrations");

    await expect(reopen()).rejects.toMatchObject({
      code: expect.stringMatching(/^ERR_AFFILIATE_\w+_NEWER$/),
      message: expect.stringContaining("install the newer express-affiliate"),
    });
  });

  test("does all its work with no more rights than the docs name", async () => {
    await (await create()).close();
    const pool = await limited();
    const small = { maxEvents: 2, maxDeadLetters: 1, migrate: false, pool };

    await using stage = await Stage.open(() => reopen(small));
    const { outbox, delivery } = stage;
    await stage.giveUp([sample("payment")]);
    // The second makes the first give way, perhaps before it is counted that there were two.
    await stage.add(sample("payment"));
    (await delivery.next()).settle({ type: "dead", ...REJECTED });
    await expect.poll(() => delivery.dropped.length).toBe(1);
    const [letter] = await outbox.deadLetters.list();
    expect(await outbox.deadLetters.retry(letter?.id as string)).toBe(true);
    (await delivery.next()).settle(retryIn(1));
    (await delivery.next()).settle({ type: "dead", ...REJECTED });
    await expect.poll(() => outbox.counts().dead.rejected).toBe(1);
    expect(await outbox.deadLetters.discard(letter?.id as string)).toBe(true);
    delivery.capacity = 0;
    // A claim that began before has ended.
    await expect.poll(() => outbox.idle).toBe(true);
    await stage.add(sample("click"), sample("click"), sample("payment"));
    expect(delivery.dropped.at(-1)?.reason).toBe("full");
    const host = await database.begin(undefined, pool);
    expect(await outbox.add(sample("payment"), host)).toBe("queued");
    delivery.capacity = 8;
    await host.end("commit");
    for (let nth = 0; nth < 2; nth++) await delivery.deliverNext();
    await upkeep(pool);
  });

  test("counts all destinations in an outbox that was not started", async () => {
    const outbox = await create();
    await outbox.add(sample("click"));
    await outbox.add({ ...sample("payment"), destination: 43 });
    await outbox.close();

    const onlooker = await reopen();
    expect(await onlooker.look()).toMatchObject({ queued: 2, byDestination: { [DESTINATION]: 1, 43: 1 } });
  });

  it("forgets what was delivered long ago, clicks after a day, and nothing else", async (stage) => {
    stage.start();
    const [old, recent, dead] = [sample("payment"), sample("payment"), sample("payment")];
    const [oldClick, recentClick] = [sample("click"), sample("click")];
    for (const event of [old, recent, oldClick, recentClick]) {
      await stage.add(event);
      await stage.delivers(event);
    }
    await stage.giveUp([dead]);
    await stage.empty();
    await age(31, [old, dead]);
    await age(2, [recent, oldClick]);

    await upkeep();

    for (const event of [recent, recentClick, dead]) expect(await stage.outbox.add(event)).toBe("duplicate");
    for (const event of [old, oldClick]) expect(await stage.outbox.add(event)).toBe("queued");
  });

  it("delivers what is left, in order, a minute after rows were deleted by hand", async (stage) => {
    stage.hold();
    const [headless, unqueued, empty] = [stranger(), stranger(), stranger()];
    const [deleted, behind] = [sample("click", headless), sample("payment", headless)];
    const [first, second] = [sample("registration", unqueued), sample("payment", unqueued)];
    const alone = sample("click", empty);
    await stage.add(deleted, behind, first, second, alone);
    await sql(`delete from $t.events where id in ('${deleted.id}', '${alone.id}')`);
    await sql(`delete from $t.queues where head in (select seq from $t.events where id = '${first.id}')`);

    await upkeep();

    expect(await sql("select visitor from $t.queues")).toHaveLength(2);
    const delivered: string[] = [];
    stage.deliverAll(delivered);
    await expect.poll(() => delivered.length).toBe(3);
    expect(delivered.filter((id) => id !== behind.id)).toEqual([first.id, second.id]);
  });

  it("an event that the tables cannot hold stops no other, whether it is queued, scheduled or reported in a transaction", async (stage) => {
    const { outbox } = stage;
    stage.hold();
    const [queued, behind, later] = [sample("payment"), sample("payment"), sample("payment")];
    const [due, dueToo] = [scheduledSample(LONG_MS), scheduledSample(LONG_MS)];
    const [reported, reportedToo] = [sample("payment"), sample("payment")];
    await stage.add(queued, behind, due, dueToo);
    await reportIn(await database.begin(), outbox, reported, reportedToo);
    const data = JSON.stringify({ clickId: "c".repeat(300) });
    await sql(`update $t.events set data = '${data}' where id in (${listOf([queued, due, reported])})`);
    await sql(`update $t.events set at_ms = 1 where id in (${listOf([due, dueToo])})`);

    await stage.add(later);
    const delivered: string[] = [];
    stage.deliverAll(delivered);

    await expect.poll(() => delivered.length, { timeout: 10_000 }).toBe(4);
    expect(delivered.sort()).toEqual(idsOf([behind, dueToo, reportedToo, later]).sort());
    await stage.empty();
    const letters = await outbox.deadLetters.list();
    expect(letters.map(({ id, code }) => [id, code]).sort()).toEqual(
      idsOf([queued, due, reported])
        .sort()
        .map((id) => [id, "ERR_UNREADABLE"]),
    );
    expect(await outbox.deadLetters.retryAll()).toBe(0);
    expect(await outbox.deadLetters.retry(due.id)).toBe(false);
  });

  test("holds, after a restore, payments that wait or are due, and no other, even of a host's transaction", async () => {
    const outbox = await create();
    outbox.bind(DESTINATION);
    const [due, later] = [scheduledSample(LONG_MS), scheduledSample(2 * LONG_MS)];
    const [reported, reportedLater] = [sample("payment"), scheduledSample(LONG_MS)];
    for (const payment of [due, later]) await outbox.add(payment);
    await reportIn(await database.begin(), outbox, reported, reportedLater);
    await sql(`update $t.events set at_ms = 1 where id = '${due.id}'`);

    expect(await outbox.hold()).toBe(2);
    expect([...(await outbox.deadLetters.ids())].sort()).toEqual(idsOf([due, reported]).sort());
    expect(await outbox.look()).toMatchObject({ queued: 2, scheduled: { count: 2 } });
    expect(await outbox.cancel(reportedLater.id)).toBe("cancelled");
  });

  test("erases what a killed process had under way, once its lease is over", async () => {
    const outbox = await create();
    outbox.bind(DESTINATION);
    await outbox.add(sampleOf("bob@shop.example", "payment"));
    for (const [dueAt, erased, state] of [
      [Date.now() + LONG_MS, 0, "under-way"],
      [Date.now() - LONG_MS, 1, "known"],
    ]) {
      await sql(`update $t.queues set turn = 101, claimed_by = 'another', due_at = ${dueAt}`);
      expect(await outbox.erase({ email: "bob@shop.example" })).toBe(erased);
      expect(await outbox.last(1)).toMatchObject([{ state }]);
    }
    expect(await outbox.look()).toMatchObject({ queued: 0 });
  });

  test("erases nothing that its own process still sends, though the lease seems to be over", async () => {
    await using stage = await Stage.open(() => create());
    const { settle } = await stage.handOver(sampleOf("bob@shop.example", "payment"));
    await sql("update $t.queues set due_at = 1");
    expect(await stage.outbox.erase({ email: "bob@shop.example" })).toBe(0);
    settle({ type: "delivered" });
    await stage.empty();
  });

  test("a process knows of payments that another one has held without an answer, until one is delivered", async () => {
    const death = { attempts: 1, reason: "unconfirmed" } as const;
    await using stage = await Stage.open(() => create());
    const other = await reopen();
    const known = async (outbox: Outbox) => {
      const { held = [], underWay = [] } = (await outbox.unanswered?.("lead/payment")) ?? {};
      return {
        held: held.flatMap(({ names }) => names).sort(),
        underWay: underWay.map(({ names }) => names),
      };
    };
    const nothing = { held: [], underWay: [] };

    await stage.giveUp([sample("payment")], { ...HELD, attempts: 0 });
    await stage.giveUp([sample("payment")], { ...death, code: "ERR_INTERRUPTED" });
    expect(await known(other)).toEqual(nothing);
    const [bySession, byClick] = [{ sessionId: "s" }, { clickId: "c" }];
    const doubtful = [sample("payment", bySession), sample("payment", { ...bySession, ...byClick })];
    await stage.giveUp(doubtful, { ...death, code: "ETIMEDOUT" });
    const held = { held: ["cc", "ss", "ss"].map((name) => `${DESTINATION} ${name}`), underWay: [] };
    expect(await known(other)).toEqual(held);
    await other.close();
    const restarted = await reopen();
    expect(await known(restarted)).toEqual(held);

    await stage.pause();
    await stage.add(sampleOf("bob@shop.example", "payment"));
    expect(await stage.outbox.erase({ email: "bob@shop.example" })).toBe(1);
    for (const outbox of [stage.outbox, restarted]) expect(await known(outbox)).toEqual(held);
    stage.release();

    (await stage.handOver(sample("payment"))).settle({ type: "delivered", isSkipped: true });
    await stage.empty();
    const { settle } = await stage.handOver(sample("payment", { sessionId: "another" }));
    expect(await known(stage.outbox)).toEqual(held);
    expect(await known(restarted)).toEqual({ ...held, underWay: [[`${DESTINATION} sanother`]] });
    settle({ type: "delivered" });
    await stage.empty();
    for (const outbox of [stage.outbox, restarted]) expect(await known(outbox)).toEqual(nothing);
  });
}
