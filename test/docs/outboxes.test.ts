import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type DiskOutboxOptions, diskOutbox } from "../../src/outbox/disk/index.js";
import { blocksOf } from "../helpers/docs/pages.js";
import { pageToRun } from "../helpers/docs/run.js";
import { closing } from "../helpers/docs/shop.js";
import { scratchDirectory } from "../helpers/scratch.js";

const page = pageToRun("docs/outboxes.md");

describe("docs/outboxes.md", () => {
  it("makes a tracker with the disk outbox", async () => {
    const root = scratchDirectory();
    const elsewhere = ({ directory }: DiskOutboxOptions) => diskOutbox({ directory: join(root, directory) });
    const modules = { "express-affiliate/disk": { diskOutbox: elsewhere } };
    const { tracker } = await page.run("Outboxes", {}, { modules });
    expect(await closing(tracker).close()).toEqual({ left: 0, durable: true });
  });

  describe("an outbox of one's own", async () => {
    const block = blocksOf("docs/outboxes.md").find(({ info }) => info.includes("file=map-outbox.ts"));
    const mapOutbox = await page.run("Writing your own");
    // The page's own call of `testOutbox`: its tests become tests here.
    await page.run(
      "Writing your own",
      {},
      {
        nth: 1,
        modules: { "node:test": { describe, it }, "./map-outbox.js": mapOutbox },
      },
    );

    it("is written in fewer than 100 lines of code", () => {
      const lines = block?.code.split("\n").filter((line) => line !== "" && !/^ *\/\*\*.*\*\/$/.test(line));
      expect(lines?.length).toBeLessThan(100);
    });
  });

  it("has no block that is not run", () => {
    expect(page.notRun).toEqual([]);
  });
});
