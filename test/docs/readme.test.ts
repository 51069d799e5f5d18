import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import express from "express";
import { describe, expect, it } from "vitest";
import { blocksOf, root, textOf } from "../helpers/docs/pages.js";
import { pageToRun } from "../helpers/docs/run.js";
import { closing, referred, startShop } from "../helpers/docs/shop.js";
import { startService } from "../helpers/service.js";
import { startTracker } from "../helpers/tracker.js";

// The quick start runs as a process of its own, in test/readme.test.ts; here is the rest.
const page = pageToRun("README.md");

describe("README.md", () => {
  it("begins with eight lines of code that report a payment once, however often the page is reloaded", async () => {
    const [block] = blocksOf("README.md");
    expect(block?.heading).toBe("express-affiliate");
    expect(block?.code.split("\n").filter((line) => line !== "")).toHaveLength(8);

    const { sandbox } = await startShop();
    const app = express();
    const { tracker } = await page.run("express-affiliate", {
      app,
      ...{ baseUrl: sandbox.url, clientId: sandbox.clientId, apiKey: sandbox.apiKey },
      checkout: async () => ({ paymentId: "o1", customerEmail: "ada@shop.example", leadValue: 19.9 }),
    });
    closing(tracker);
    for (let load = 0; load < 3; load++) await referred(app).post("/checkout").expect(200, { paid: true });
    await tracker.flush();
    expect(sandbox.ledger.payments()).toMatchObject([{ sessionId: "s1", leadValue: 19.9 }]);
    expect(tracker.stats()).toMatchObject({ delivered: 1, duplicates: 2 });
  });

  it("names the paths that are called, and the fields that are sent", async () => {
    const { url, received } = await startService(({ method }) =>
      method === "GET" ? { sessionId: "s1", hasAffiliate: false } : { success: true },
    );
    const { client } = startTracker({ baseUrl: url });
    await client.click({
      ...{ affiliateReference: "ALICE", clickId: "c1", sessionId: "s1", source: "letter" },
      ...{ clickedUrl: "https://shop.example/", referrerUrl: "https://blog.example/", userAgent: "Firefox" },
    });
    await client.registration({ clickId: "c1", email: "a@b", customerId: "1", customerName: "Ada" });
    await client.registrationLead({ customerEmail: "a@b", customerName: "Ada", sessionId: "s1" });
    await client.paymentLead({ customerEmail: "a@b", leadValue: 1, sessionId: "s1" });
    await client.status("{sessionId}");

    const cells = /^\| `(\w+) (\/api\/\S+)` \| [^|]+ \| (.*) ?\|$/gm;
    const named = [...textOf("README.md").matchAll(cells)].map(([, method, path, fields = ""]) => ({
      ...{ method, path },
      fields: [...fields.matchAll(/`(\w+)`/g)].map(([, field]) => field),
    }));
    expect(named).toEqual(
      received.map(({ method, path, body = {} }) => ({
        ...{ method, path: decodeURIComponent(path) },
        fields: Object.keys(body),
      })),
    );
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
    expect(statSync(join(root, path)).size).toBeLessThan(80_000);
    const shown = Number(width) / Number(height);
    expect(Math.abs(shown / (png.readUInt32BE(16) / png.readUInt32BE(20)) - 1)).toBeLessThan(0.01);
  });

  it("has no other block that is not run", () => {
    expect(page.notRun).toEqual([expect.stringContaining("(Quick start)")]);
  });
});
