import { type DiskOutboxOptions, diskOutbox } from "express-affiliate/disk";
import { expect, it, vi } from "vitest";
import { order } from "../helpers/conversions.js";
import { pages, textOf } from "../helpers/docs/pages.js";
import { closing, pageToRun, referred, startShop } from "../helpers/docs/run.js";
import { scratchDirectory } from "../helpers/scratch.js";

const page = pageToRun("README.md");

it("the README begins with code that reports a payment once, however often the page is reloaded", async () => {
  const { sandbox, env } = await startShop();
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
  const directory = scratchDirectory();
  const inDirectory = (options: DiskOutboxOptions) => diskOutbox({ ...options, directory });
  const modules = { "express-affiliate/disk": { diskOutbox: inDirectory } };
  const { app, tracker } = await page.run("express-affiliate", { checkout: async () => order }, { modules });
  vi.unstubAllEnvs();
  closing(tracker);
  for (let load = 0; load < 3; load++) await referred(app).post("/checkout").expect(200, { paid: true });
  await tracker.flush();
  expect(sandbox.ledger.payments()).toMatchObject([{ sessionId: "s1", leadValue: 19.9 }]);
  expect(tracker.stats()).toMatchObject({ delivered: 1, duplicates: 2 });
});

const wordsOf = (page: string) => textOf(page).trim().split(/\s+/).length;

it("the README is read in five minutes", () => {
  expect(wordsOf("README.md")).toBeLessThanOrEqual(800);
});

it("the README and all guides are at most 22,000 words", () => {
  const guides = pages.filter((page) => page === "README.md" || /^docs\/.*\.md$/.test(page));
  const words = guides.map(wordsOf).reduce((sum, each) => sum + each, 0);
  expect(words, "say each thing once, and link to it").toBeLessThanOrEqual(22_000);
});
