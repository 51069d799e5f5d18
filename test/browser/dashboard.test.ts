/// <reference lib="dom" />
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import express from "express";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { dashboard } from "../../src/dashboard/index.js";
import type { Affiliate } from "../../src/index.js";
import { answering, type FaultyService, faultyService, hangingUp } from "../helpers/faulty-service.js";
import { startTracker } from "../helpers/tracker.js";
import { expectAccessible, fits, hasChromium, launch, openPage, picture } from "./chromium.js";

const phone = { viewport: { width: 390, height: 844 } };
const order = { customerEmail: "ada@shop.example", leadValue: 39.9 };

describe.skipIf(!hasChromium)("the dashboard", () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await launch();
  });
  afterAll(() => browser.close());

  /** A host with the dashboard, and the service behind it. */
  async function startHost(service?: FaultyService) {
    const behind = service ?? (await faultyService());
    const tracker = startTracker({ baseUrl: behind.url });
    const app = express().use("/admin/affiliate", dashboard(tracker, { authorize: () => true }));
    const server = app.listen(0, "127.0.0.1");
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    return { service: behind, tracker, server, url: `http://127.0.0.1:${port}/admin/affiliate` };
  }

  async function open(url: string, options?: BrowserContextOptions): Promise<Page> {
    const page = await openPage(browser, options);
    await page.goto(url);
    await page.getByText("live", { exact: true }).waitFor();
    return page;
  }

  test.each([
    ["light-wide", { colorScheme: "light", viewport: { width: 1280, height: 900 } }],
    ["dark-wide", { colorScheme: "dark", viewport: { width: 1280, height: 900 } }],
    ["light-narrow", { colorScheme: "light", ...phone }],
    ["dark-narrow", { colorScheme: "dark", ...phone }],
    ["forced-wide", { forcedColors: "active", viewport: { width: 1280, height: 900 } }],
  ] as const)("has nothing that axe objects to: %s", async (name, options) => {
    const { url, tracker, service } = await startHost();
    const page = await open(url, options);
    const see = async (state: string) => {
      await expectAccessible(page, `dashboard-${state}-${name}`);
      expect(await fits(page), state).toBe(true);
    };
    await see("empty");

    await aBusyDay(tracker, service);
    await page.reload();
    await page.locator(".letter").nth(4).waitFor();
    await see("dead-letters");
    await page.getByRole("button", { name: "Decide…" }).first().click();
    await page.getByRole("dialog").waitFor();
    await see("question");
    await page.keyboard.press("Escape");

    await service.stop();
    for (let n = 0; n < 12; n++) await pay(tracker, `waiting-${n}`);
    await tracker.trackClick({ affiliateReference: "ALICE" }, { clickId: "late" });
    await page.getByText("it cannot be reached").first().waitFor();
    await see("outage");
  });
});

function pay(tracker: Affiliate, paymentId: string, leadValue = order.leadValue) {
  return tracker.trackPayment({ ...order, paymentId, leadValue }, { sessionId: paymentId });
}

/** Events of all kinds; some are refused, and of two payments it is not known whether they arrived. */
async function aBusyDay(tracker: Affiliate, service: FaultyService): Promise<void> {
  service.onRequest = (socket, { body }, nth) => {
    const said = { error: "Unprocessable", message: "there is no customer ada@shop.example", status: 422 };
    if (body.includes("118")) hangingUp(socket, { method: "", path: "", head: "", body }, nth);
    else if (body.includes("bad"))
      answering(422, said)(socket, { method: "", path: "", head: "", body }, nth);
    else answering(200)(socket, { method: "", path: "", head: "", body }, nth);
  };
  for (let n = 0; n < 9; n++) await tracker.trackClick({ affiliateReference: "ALICE" }, { clickId: `c${n}` });
  for (let n = 0; n < 5; n++)
    await tracker.trackRegistration(
      { email: `${n === 3 ? "bad" : "bo"}${n}@shop.example`, customerId: 4000 + n },
      { clickId: `c${n}` },
    );
  await tracker.trackPayment(
    { ...order, paymentId: "order-1042", customerEmail: "bad@shop.example", leadValue: 64.5 },
    { sessionId: "bad" },
  );
  await tracker.trackClick({ affiliateReference: "bad-reference" }, { clickId: "c-unknown" });
  for (let n = 0; n < 4; n++) await pay(tracker, `order-${1050 + n}`);
  await pay(tracker, "order-1043", 118);
  await pay(tracker, "order-1044", 1118.25);
  await pay(tracker, "free", 0);
  await tracker.trackRegistration({ email: "cy@shop.example" });
  await tracker.trackPayment({ ...order, paymentId: "wrong", leadValue: -1 });
  await expect.poll(() => tracker.stats().dead).toMatchObject({ rejected: 3, unconfirmed: 2 });
}
void picture;
