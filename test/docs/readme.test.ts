import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import express from "express";
import { type DiskOutboxOptions, diskOutbox } from "express-affiliate/disk";
import { describe, expect, it } from "vitest";
import { blocksOf, isCode, root, textOf } from "../helpers/docs/pages.js";
import { pageToRun } from "../helpers/docs/run.js";
import { closing, referred, startShop } from "../helpers/docs/shop.js";
import { scratchDirectory } from "../helpers/scratch.js";

const page = pageToRun("README.md");

describe("README.md", () => {
  it("begins with eight lines of code that report a payment once, however often the page is reloaded", async () => {
    const [block] = blocksOf("README.md").filter(isCode);
    expect(block?.heading).toBe("express-affiliate");
    expect(block?.code.split("\n").filter((line) => line !== "")).toHaveLength(8);

    const { sandbox } = await startShop();
    const app = express();
    const names = {
      app,
      ...{ baseUrl: sandbox.url, clientId: sandbox.clientId, apiKey: sandbox.apiKey },
      checkout: async () => ({ paymentId: "o1", customerEmail: "ada@shop.example", leadValue: 19.9 }),
    };
    const directory = scratchDirectory();
    const inDirectory = (options: DiskOutboxOptions) => diskOutbox({ ...options, directory });
    const modules = { "express-affiliate/disk": { diskOutbox: inDirectory } };
    const { tracker } = await page.run("express-affiliate", names, { modules });
    closing(tracker);
    for (let load = 0; load < 3; load++) await referred(app).post("/checkout").expect(200, { paid: true });
    await tracker.flush();
    expect(sandbox.ledger.payments()).toMatchObject([{ sessionId: "s1", leadValue: 19.9 }]);
    expect(tracker.stats()).toMatchObject({ delivered: 1, duplicates: 2 });
  });

  it("shows its eight lines with the outbox of the table's last column", () => {
    const [block] = blocksOf("README.md").filter(isCode);
    expect(block?.code).toContain("diskOutbox({ directory");
    expect(/^\| of [\d,]+ payments \| .*$/m.exec(textOf("README.md"))?.[0]).toMatch(
      /\| ours, memory \| ours, disk \|$/,
    );
  });

  it("is read in five minutes", () => {
    expect(textOf("README.md").trim().split(/\s+/).length).toBeLessThanOrEqual(900);
  });

  it("says what to run in a clone", () => {
    for (const command of ["`npm ci && npm run example`", "`npm ci && npm test`"])
      expect(textOf("README.md")).toContain(command);
  });

  it("shows a picture of the sandbox's page that is small, in its proportions", () => {
    const [, path = "", width, height] =
      /<img src="(\S+)" width="(\d+)" height="(\d+)" alt="[^"]+">/.exec(textOf("README.md")) ?? [];
    const png = readFileSync(join(root, path));
    expect(png.subarray(1, 4).toString()).toBe("PNG");
    // At twice the pixels or more, so that text is sharp.
    expect(statSync(join(root, path)).size).toBeLessThan(300_000);
    expect(png.readUInt32BE(16)).toBeGreaterThanOrEqual(2 * Number(width));
    const shown = Number(width) / Number(height);
    expect(Math.abs(shown / (png.readUInt32BE(16) / png.readUInt32BE(20)) - 1)).toBeLessThan(0.01);
  });

  it("asks for consent as it says", async () => {
    const { consent } = await page.run("Consent");
    expect([{ consent: "all" }, { consent: "none" }, {}].map((cookies) => consent({ cookies }))).toEqual([
      true,
      false,
      false,
    ]);
  });

  it("has run every block of the page", () => {
    expect(page.notRun).toEqual([]);
  });
});
