import type { Outbox } from "express-affiliate";
import { diskOutbox } from "express-affiliate/disk";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { largeSample, sample } from "../contract/samples.js";
import { REJECTED, Stage } from "../contract/stage.js";
import { openDisk } from "../helpers/disk-store.js";
import { scratchDirectory } from "../helpers/scratch.js";
import { startTracker } from "../helpers/tracker.js";
import { appWith, openDashboard } from "./helpers.js";

async function pageOver(outbox: Outbox) {
  const tracker = startTracker({ baseUrl: "https://tracking.example", outbox, delivery: false });
  return { tracker, list: vi.spyOn(tracker.deadLetters, "list"), page: openDashboard(appWith(tracker)) };
}

describe("many large dead letters", () => {
  const damaged = largeSample("payment", 100_000);
  const unconfirmed = sample("payment");
  let directory: string;

  beforeEach(async () => {
    directory = scratchDirectory();
    await using stage = await Stage.open(() => diskOutbox({ directory }));
    const others = (["payment", "registration", "click"] as const).map((kind) => largeSample(kind, 100_000));
    await stage.giveUp([damaged, ...others]);
    await stage.giveUp([unconfirmed], { ...REJECTED, reason: "unconfirmed" });
  });

  test("are summed, retried and discarded without loading one", async () => {
    const { list, page, tracker } = await pageOver(diskOutbox({ directory }));
    const sum = async (query = "") => {
      const { letters: _, ...sum } = (await page.get(`dead-letters${query}`)).body;
      return sum;
    };

    expect(await sum()).toEqual({ count: 5, unconfirmed: 1, payments: 3, amount: 59.7 });
    expect(await sum("?kind=payment&reason=rejected")).toMatchObject({ count: 2, amount: 39.8 });
    expect(await sum("?kind=click")).toEqual({ count: 1, unconfirmed: 0, payments: 0, amount: 0 });
    await page.post("retry", { reason: "unconfirmed", count: 1 }).expect(200, { count: 1 });
    await page.post("discard", { kind: "payment", count: 2 }).expect(200, { count: 2 });
    const [click] = await tracker.deadLetters.list({ kind: "click" });
    list.mockClear();
    await page.post("retry", { id: click?.id }).expect(200);
    expect(list.mock.calls).toEqual([[{ id: click?.id }]]);
    expect(await sum()).toMatchObject({ count: 1, payments: 0 });
  });

  test("are shown beside one that cannot be read, which can be discarded alone", async () => {
    const disk = openDisk(directory);
    disk.db.exec(`update events set data = 'null' where id = '${damaged.id}'`);
    disk.close();
    const { page, tracker } = await pageOver(diskOutbox({ directory }));

    const { letters } = (await page.get("dead-letters").expect(200)).body;
    expect(letters).toHaveLength(5);
    const found = letters.filter(({ unreadable }: { unreadable?: true }) => unreadable);
    expect(found).toMatchObject([{ id: damaged.id, kind: "payment", reason: "rejected" }]);
    expect(await tracker.deadLetters.retry(damaged.id)).toBe(false);
    expect(await tracker.deadLetters.retryAll()).toBe(3);
    expect(await tracker.deadLetters.discard(damaged.id)).toBe(true);
    expect((await tracker.deadLetters.list()).map(({ id }) => id)).toEqual([unconfirmed.id]);
  });
});
