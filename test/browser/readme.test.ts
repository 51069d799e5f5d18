import { copyFileSync, existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { affiliate } from "express-affiliate";
import { expect, test } from "vitest";
import { startSandbox } from "../sandbox/helpers.js";
import { describeInChromium, screenshots } from "./chromium.js";

const root = resolve(import.meta.dirname, "../..");

describeInChromium("README's picture", ({ openPage }) => {
  // `PICTURE=docs/sandbox.png npm run test:browser -- readme` makes it again.
  test("shows a chain that is linked, who gets the credit, and a payment that is linked to no affiliate", async () => {
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
    const ben = { paymentId: "o-1816", customerEmail: "ben@shop.example", leadValue: 12.5 };
    await tracker.trackPayment(ben, { sessionId: "r5T1" });
    await tracker.flush();
    await tracker.close();

    // As wide as README shows it, at twice the pixels.
    const viewport = { width: 1140, height: 700 };
    const page = await openPage({ viewport, colorScheme: "light", deviceScaleFactor: 2 });
    await page.goto(sandbox.inspectorUrl);
    const visitor = page.getByRole("listitem", { name: "Ada Lovelace" });
    await visitor.getByText("ALICE, through the session id of click 1").waitFor();
    expect(await visitor.getByText("through the click id of click 1").count()).toBe(1);
    await page.getByText("1 not linked").waitFor();
    const path = join(screenshots, "readme.png");
    await page.screenshot({ path, clip: { x: 0, y: 0, width: 1140, height: 607 } });
    if (process.env.PICTURE) copyFileSync(path, join(root, process.env.PICTURE));
    expect(existsSync(path)).toBe(true);
  });
});
