import type { Outbox } from "express-affiliate";
import { diskOutbox } from "express-affiliate/disk";
import { describe, expect, test, vi } from "vitest";
import { largeSample, sample } from "../contract/samples.js";
import { REJECTED, Stage } from "../contract/stage.js";
import { openDisk } from "../helpers/disk-store.js";
import { describeWithMariaDb } from "../helpers/mysql.js";
import { describeWithPostgres } from "../helpers/postgres.js";
import { scratchDirectory } from "../helpers/scratch.js";
import { startTracker } from "../helpers/tracker.js";
import { appWith, openDashboard } from "./helpers.js";

/**
 * What each test begins with: three payments, one of them unconfirmed, a registration and a click,
 * all of them large.
 */
async function filled(create: () => Outbox | Promise<Outbox>) {
  await using stage = await Stage.open(create);
  const damaged = largeSample("payment", 100_000);
  const others = (["payment", "registration", "click"] as const).map((kind) => largeSample(kind, 100_000));
  const unconfirmed = sample("payment");
  await stage.giveUp([damaged, ...others]);
  await stage.giveUp([unconfirmed], { ...REJECTED, reason: "unconfirmed" });
  return { damaged, unconfirmed };
}

async function pageOver(outbox: Outbox) {
  const tracker = startTracker({ baseUrl: "https://tracking.example", outbox, delivery: false });
  const list = vi.spyOn(tracker.deadLetters, "list");
  return { tracker, list, page: openDashboard(appWith(tracker)) };
}

/** @param damage makes the stored data of a dead letter the JSON of `null`. */
function testManyLetters(outbox: {
  create(): Outbox | Promise<Outbox>;
  reopen(): Outbox | Promise<Outbox>;
  damage(id: string): unknown;
}): void {
  test("are summed, retried and discarded without loading one", async () => {
    await filled(outbox.create);
    const { list, page, tracker } = await pageOver(await outbox.reopen());
    const sum = async (query = "") => {
      const { letters: _, ...sum } = (await page.get(`dead-letters${query}`)).body;
      return sum;
    };

    expect(await sum()).toEqual({ count: 5, unconfirmed: 1, payments: 3, amount: 59.7 });
    expect(await sum("?kind=payment&reason=rejected")).toMatchObject({ count: 2, amount: 39.8 });
    expect(await sum("?kind=click")).toEqual({ count: 1, unconfirmed: 0, payments: 0, amount: 0 });
    await page.post("retry", { reason: "unconfirmed", count: 2 }).expect(409);
    await page.post("retry", { reason: "unconfirmed", count: 1 }).expect(200, { count: 1 });
    await page.post("discard", { kind: "payment", count: 1 }).expect(409);
    await page.post("discard", { kind: "payment", count: 2 }).expect(200, { count: 2 });
    const [click] = await tracker.deadLetters.list({ kind: "click" });
    list.mockClear();
    await page.post("retry", { id: click?.id }).expect(200);
    expect(list.mock.calls).toEqual([[{ id: click?.id }]]);
    expect(await sum()).toMatchObject({ count: 1, payments: 0 });
  });

  test("are shown beside one that cannot be read, which can be discarded alone", async () => {
    const { damaged, unconfirmed } = await filled(outbox.create);
    await outbox.damage(damaged.id);
    const { page, tracker } = await pageOver(await outbox.reopen());

    const { letters } = (await page.get("dead-letters").expect(200)).body;
    expect(letters).toHaveLength(5);
    const found = letters.find(({ id }: { id: string }) => id === damaged.id);
    expect(found).toMatchObject({ kind: "payment", reason: "rejected", unreadable: true });
    expect(letters.filter(({ unreadable }: { unreadable?: true }) => unreadable)).toHaveLength(1);
    expect(await tracker.deadLetters.retry(damaged.id)).toBe(false);
    expect(await tracker.deadLetters.retryAll()).toBe(3);
    expect(await tracker.deadLetters.discard(damaged.id)).toBe(true);
    const left = await tracker.deadLetters.list();
    expect(left.map(({ id }) => id)).toEqual([unconfirmed.id]);
  });
}

describe("many large dead letters on the disk", () => {
  let directory: string;
  testManyLetters({
    create() {
      directory = scratchDirectory();
      return diskOutbox({ directory });
    },
    reopen: () => diskOutbox({ directory }),
    damage(id) {
      const disk = openDisk(directory);
      disk.db.exec(`update events set data = 'null' where id = '${id}'`);
      disk.close();
    },
  });
});

describeWithPostgres("many large dead letters in Postgres", (database) => {
  testManyLetters({
    create: () => database.create(),
    reopen: () => database.reopen(),
    damage: (id) => database.sql("update $schema.events set data = 'null' where id = $1", [id]),
  });
});

describeWithMariaDb("many large dead letters in MariaDB", (database) => {
  testManyLetters({
    create: () => database.create(),
    reopen: () => database.reopen(),
    damage: (id) => database.sql("update $prefixevents set data = 'null' where id = ?", [id]),
  });
});
