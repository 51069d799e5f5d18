import { join } from "node:path";
import { type DiskOutboxOptions, diskOutbox } from "express-affiliate/disk";
import { describe, expect, it } from "vitest";
import * as mapOutbox from "../../docs/outboxes/map-outbox.js";
import { textOf } from "../helpers/docs/pages.js";
import { pageToRun, runBlock } from "../helpers/docs/run.js";
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
    // Its call of `testOutbox`: its tests become tests here.
    const file = "docs/outboxes/map-outbox.test.ts";
    const block = { page: file, heading: "", line: 1, info: "ts", code: textOf(file) };
    await runBlock(block, {}, { modules: { "node:test": { describe, it }, "./map-outbox.js": mapOutbox } });

    it("is written in about a hundred lines, its imports aside", () => {
      const [, code = ""] = textOf("docs/outboxes/map-outbox.ts").split(/^} from .*\n/m);
      const lines = code.split("\n").filter((line) => !/^ *($|\/\/|\/\*\*)/.test(line));
      expect(lines.length).toBeGreaterThan(50);
      expect(lines.length).toBeLessThan(110);
    });
  });

  it("has no block that is not run", () => {
    expect(page.notRun).toEqual([]);
  });
});
