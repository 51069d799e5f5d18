import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type DiskOutboxOptions, diskOutbox } from "../../src/outbox/disk/index.js";
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

  it("puts an outbox of one's own to the test", async () => {
    const tests: (() => Promise<void>)[] = [];
    const runner = {
      describe: (_name: string, body: () => void) => body(),
      it: (_name: string, body: () => Promise<void>) => tests.push(body),
    };
    await page.run("Writing your own", {}, { modules: { "node:test": runner } });
    expect(tests.length).toBeGreaterThan(10);
    for (const test of tests) await test();
  });

  it("has no block that is not run", () => {
    expect(page.notRun).toEqual([]);
  });
});
