import { copyFileSync, existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { affiliate } from "express-affiliate";
import { describe, expect, test } from "vitest";
import { startSandbox } from "../sandbox/helpers.js";
import { hasChromium, launch, openPage, screenshots } from "./chromium.js";

const root = resolve(import.meta.dirname, "../..");

describe.skipIf(!hasChromium)("README's picture", () => {
  // `PICTURE=docs/sandbox.png npm run test:browser -- readme` makes it again.
  test("shows a visitor's click, registration and payment, each linked to the affiliate", async () => {
    const sandbox = await startSandbox();
    const { url: baseUrl, clientId, apiKey } = sandbox;
    const tracker = affiliate({ baseUrl, clientId, apiKey });
    const ada = { clickId: "k3V9", sessionId: "v7Q2" };
    const email = "ada@shop.example";
    const clickedUrl = "https://shop.example/?ref=ALICE";
    await tracker.trackClick({ affiliateReference: "ALICE", clickedUrl, ...ada });
    await tracker.trackRegistration({ email, customerId: "7", customerName: "Ada Lovelace" }, ada);
    await tracker.trackPayment({ paymentId: "o-1815", customerEmail: email, leadValue: 19.9 }, ada);
    await tracker.flush();
    await tracker.close();

    const browser = await launch();
    try {
      const page = await openPage(browser, { viewport: { width: 1000, height: 700 }, colorScheme: "light" });
      await page.goto(sandbox.inspectorUrl);
      const visitor = page.getByRole("listitem", { name: "Ada Lovelace" });
      await visitor.getByText("ALICE, through the session id of click 1").waitFor();
      expect(await visitor.getByText("through the click id of click 1").count()).toBe(1);
      const path = join(screenshots, "readme.png");
      const { y = 0, height = 0 } = (await page.locator("#affiliates").boundingBox()) ?? {};
      await page.screenshot({ path, clip: { x: 0, y: 0, width: 1000, height: Math.ceil(y + height) + 20 } });
      if (process.env.PICTURE) copyFileSync(path, join(root, process.env.PICTURE));
      expect(existsSync(path)).toBe(true);
    } finally {
      await browser.close();
    }
  });
});
