/// <reference lib="dom" />

import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { affiliate } from "express-affiliate";
import type { Sandbox } from "express-affiliate/sandbox";
import type { BrowserContextOptions, Page } from "playwright-core";
import { describe, expect } from "vitest";
import {
  call,
  key,
  sendClick,
  sendPayment,
  sendRegistration,
  sendRegistrationLead,
  startSandbox,
  test,
} from "../sandbox/helpers.js";
import { describeInChromium, expectAccessible, expectAccessibleInEachLook, screenshots } from "./chromium.js";

describeInChromium("the inspector", ({ openPage }) => {
  async function inspect(sandbox: Sandbox, options?: BrowserContextOptions): Promise<Page> {
    const page = await openPage(options);
    await page.goto(sandbox.inspectorUrl);
    await page.getByText("live", { exact: true }).waitFor();
    return page;
  }

  const openFaults = (page: Page) => page.locator("summary").getByText("Faults").click();
  const visitor = (page: Page, name: string | RegExp) => page.getByRole("listitem", { name });

  describe("the stream of visitors", () => {
    test("is drawn as chains, the broken ones first, with who gets the credit, why not, and the request", async ({
      sandbox,
    }) => {
      await sendRegistration(sandbox, { clickId: "late", email: "cy@shop.test" });
      await sendClick(sandbox, { clickId: "late", sessionId: "session-2" });
      await sendClick(sandbox);
      await sendPayment(sandbox);
      const page = await inspect(sandbox);
      const names = await page.locator(".visitor h3 .foreign").allTextContents();
      expect(names).toEqual(["cy@shop.test", "bo@shop.test"]);
      const chain = (name: string) =>
        visitor(page, name)
          .locator(".step")
          .evaluateAll((steps) =>
            steps.map((step) => [step.querySelector(".node")?.classList[1], step.classList[1]].join(" ")),
          );
      expect(await chain("bo@shop.test")).toEqual(["linked to-linked", "none to-linked", "linked to-none"]);
      expect(await chain("cy@shop.test")).toEqual(["linked to-lost", "lost to-none", "none to-none"]);
      const lost = visitor(page, "cy@shop.test");
      await lost.getByText("no affiliate").waitFor();
      expect(await lost.locator(".why").allTextContents()).toEqual([
        expect.stringMatching(
          /^Not linked: the click came after it. It carried the click id late. That is the click id of click 1 \(ALICE\), which came \d+ ms after it. $/,
        ),
      ]);
      await page.getByRole("status").getByText("1 not linked").waitFor();
      const opened = page.waitForEvent("popup");
      await lost.getByRole("link", { name: "request 1" }).click();
      expect(await (await opened).locator("pre").textContent()).toContain('"clickId": "late"');
    });

    test("says how many there are if it shows fewer, and shows more when asked", async ({ sandbox }) => {
      await manyVisitors(sandbox, 120);
      const page = await inspect(sandbox);
      const stream = page.getByRole("region", { name: "Visitors" });
      await stream.getByText("100 of 120").waitFor();
      await stream.getByRole("button", { name: "Show more" }).click();
      await expect.poll(() => page.locator(".visitor").count()).toBe(120);
      expect(await stream.getByText("of 120").count()).toBe(0);
      const row = visitor(page, /^s-7’s visitor/);
      for (let each = 0; each < 50; each += 1)
        await sendClick(sandbox, { clickId: `again-${each}`, sessionId: "s-7", affiliateReference: "s-7" });
      await row.getByText("40 of 51").waitFor();
      await row.getByRole("button", { name: "Show more" }).click();
      await expect.poll(() => row.locator(".entry").count()).toBe(51);
    });

    test("shows what strangers sent as text, whatever it is", async ({ sandbox }) => {
      const page = await openPage();
      const requested: string[] = [];
      page.on("request", (request) => requested.push(new URL(request.url()).pathname));
      page.on("dialog", (dialog) => expect.unreachable(dialog.message()));

      const evil = (name: string) =>
        `<script src="/evil-${name}"></script><img src=/evil onerror=alert('${name}')>`;
      const email = `${evil("email").replaceAll(" ", "/")}@shop.test`;
      const url = `http://shop.test/?${evil("url")}`;
      await sendClick(sandbox, {
        ...{ affiliateReference: evil("reference"), clickId: evil("click"), sessionId: evil("session") },
        ...{ clickedUrl: url, referrerUrl: url, userAgent: evil("agent"), source: evil("source") },
      });
      const customer = { customerId: evil("customer"), customerName: evil("name") };
      await call(sandbox, "registration", { clickId: evil("click"), email, ...customer });
      await call(sandbox, "registration", { clickId: evil("unknown"), email: `2${email}`, ...customer });
      const visit = { customerEmail: email, sessionId: evil("session") };
      await sendRegistrationLead(sandbox, { ...visit, customerName: evil("name") });
      await sendPayment(sandbox, visit);
      await call(sandbox, `status/${encodeURIComponent(evil("path"))}?${evil("query")}`, undefined, {
        "user-agent": evil("header"),
      });
      await fetch(`${sandbox.url}/${evil("nowhere")}`, { method: "POST", body: evil("body") });

      await page.goto(sandbox.inspectorUrl);
      await page.locator("strong").getByText(evil("reference")).first().waitFor();
      const opened = page.waitForEvent("popup");
      await page.locator("#requests a").first().click();
      expect(await (await opened).locator("pre").textContent()).toContain(evil("body"));
      for (const name of ["name", "source", "customer", "session"])
        expect(await page.getByRole("main").textContent()).toContain(evil(name));
      expect(await page.locator("main script, main img").count()).toBe(0);
      expect(requested.filter((path) => path.includes("evil"))).toEqual([]);
    });

    test("keeps its lines the right way round, whatever the script of a name", async ({ sandbox }) => {
      const name = "\u202eאבי\u2067";
      await sendClick(sandbox);
      await sendRegistration(sandbox, { customerName: name });
      const line = (await inspect(sandbox)).locator('[aria-label="Registrations"] .entry p').first();
      const parts = line.locator("> *");
      const lefts = await parts.evaluateAll((all) => all.map((part) => part.getBoundingClientRect().left));
      expect(lefts).toHaveLength(3);
      expect(await line.textContent()).toContain("\\u202e");
      expect(lefts).toEqual(lefts.toSorted((a, b) => a - b));
    });
  });

  describe("a live update", () => {
    test("keeps the focus, the selection, the scroll position, what is open and what is typed", async () => {
      const sandbox = await startSandbox();
      await manyVisitors(sandbox, 60);
      const page = await inspect(sandbox);
      await page.getByText("What this sandbox decided").click();
      await openFaults(page);
      await page.getByLabel("slow by").fill("123");
      await page.getByLabel("for").selectOption("10 minutes");
      const row = visitor(page, "s-30");
      await row.scrollIntoViewIfNeeded();
      await row.getByRole("link").focus();
      await row.getByText("session id").evaluate((element) => getSelection()?.selectAllChildren(element));
      const selected = await page.evaluate(() => String(getSelection()));
      const top = async () => (await row.boundingBox())?.y ?? -1;
      const before = await top();

      await manyVisitors(sandbox, 5, "new");
      await sendPayment(sandbox, { sessionId: "none" });
      await page.getByRole("status").getByText("66, 1 not linked").waitFor();

      expect(await page.evaluate(() => document.activeElement?.textContent)).toBe("request 31");
      expect(await page.evaluate(() => String(getSelection()))).toBe(selected);
      expect(selected).toContain("s-30");
      // A scroll position is in whole pixels, an element's is not: each update may move it by less
      // than half a pixel.
      expect(Math.abs((await top()) - before)).toBeLessThan(1);
      expect(await page.locator("main details").last().getAttribute("open")).toBe("");
      expect(await page.getByLabel("slow by").inputValue()).toBe("123");
      expect(await page.getByLabel("for").inputValue()).toBe("600000");
    });

    test.for([
      ["Chromium", () => {}],
      ["a browser without moveBefore", () => Reflect.deleteProperty(Element.prototype, "moveBefore")],
    ] as const)("keeps the focus in a visitor who moves to the top, in %s", async ([_, prepare]) => {
      const sandbox = await startSandbox();
      await manyVisitors(sandbox, 10);
      const page = await openPage();
      await page.addInitScript(prepare);
      await page.goto(sandbox.inspectorUrl);
      await visitor(page, "s-3").getByRole("link").focus();
      await sendRegistration(sandbox, { clickId: "c-3", email: "bo@shop.test" });
      await page.locator(".visitor").first().getByText("bo@shop.test").first().waitFor();
      expect(await page.evaluate(() => document.activeElement?.textContent)).toBe("request 4");
    });
  });

  describe("the faults", () => {
    test("are on at the press of a button: until when, how slow, or why that was refused", async () => {
      const sandbox = await startSandbox();
      const page = await inspect(sandbox);
      await openFaults(page);
      const modes = (await page.locator("#modes button").allTextContents()).map((mode) => mode.trim());
      expect(modes).toHaveLength(11);
      for (const mode of [...modes.slice(1), "503"]) {
        await page.getByRole("button", { name: mode, exact: true }).click();
        await expect.poll(() => sandbox.fault.mode).toBe(mode);
      }
      const bar = page.getByRole("region", { name: "Faults" });
      await bar.getByText(/503 since \S+, until \S+/).waitFor();
      await bar.getByText(/^(30|[12]?\d) s left$/).waitFor();
      expect(await page.getByRole("button", { name: "503" }).getAttribute("aria-pressed")).toBe("true");
      expect(await page.title()).toBe("503 · Affiliate sandbox");
      await page.getByRole("button", { name: "ok" }).click();
      await bar.getByText("No fault: the service answers.").waitFor();

      await page.getByLabel("slow by").fill("-5");
      await page.getByRole("button", { name: "slow" }).click();
      await page.getByRole("alert").getByText("A fault is { mode, forMs?, delayMs?").waitFor();
      await page.getByLabel("slow by").fill("123");
      await page.getByLabel("for").selectOption("until told otherwise");
      await page.getByRole("button", { name: "slow" }).click();
      await expect.poll(() => page.getByRole("alert").textContent()).toBe("");
      await expect.poll(() => sandbox.fault).toMatchObject({ mode: "slow", delayMs: 123, until: null });
      await page.getByText("until told otherwise").first().waitFor();
    });
  });

  // `PICTURE=docs/sandbox.png npm run test:browser -- inspector` makes it again.
  test("is README's picture: a chain that is linked, who gets the credit, and a payment that is linked to no affiliate", async ({
    sandbox,
  }) => {
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
    const page = await inspect(sandbox, { viewport, colorScheme: "light", deviceScaleFactor: 2 });
    const linked = visitor(page, "Ada Lovelace");
    await linked.getByText("ALICE, through the session id of click 1").waitFor();
    expect(await linked.getByText("through the click id of click 1").count()).toBe(1);
    await page.getByText("1 not linked").waitFor();
    const path = join(screenshots, "readme.png");
    await page.screenshot({ path, clip: { x: 0, y: 0, width: 1140, height: 607 } });
    if (process.env.PICTURE) copyFileSync(path, process.env.PICTURE);
  });

  test("clears everything if the reader agrees", async ({ sandbox }) => {
    await sendClick(sandbox);
    const page = await inspect(sandbox);
    page.on("dialog", (dialog) => dialog.accept());
    await page.getByRole("button", { name: "Clear everything" }).click();
    await page.getByText("No visitor yet.").waitFor();
    expect(sandbox.ledger.clicks()).toEqual([]);
  });

  test("axe finds nothing, and nothing is wider than the window, in any look and state", async () => {
    const sandbox = await startSandbox();
    const page = await inspect(sandbox);
    const see = (state: string) => expectAccessibleInEachLook(page, `inspector-${state}`);
    await see("empty");
    await aBusyDay(sandbox);
    await visitor(page, "Bo Berg").waitFor();
    await see("visitors");
    for (const details of await page.locator("summary").all()) await details.click();
    await see("open");
    await sandbox.fail("reset-after", { forMs: 600_000 });
    await page.getByText(/reset-after since/).waitFor();
    await see("fault");
  }, 180_000);

  test.for([390, 320])("fits %s px, whatever the numbers, ids and names", async (width, { sandbox }) => {
    const long = "w".repeat(256);
    const ids = { clickId: long, sessionId: long, affiliateReference: "A".repeat(300), source: long };
    await sendClick(sandbox, { ...ids, clickedUrl: `https://shop.test/${long}` });
    await sendRegistration(sandbox, { clickId: long, customerId: long, customerName: long });
    for (const leadValue of [Number.MAX_VALUE, Number.MAX_VALUE, 123456789012345.12, 0.000001])
      await sendPayment(sandbox, { leadValue, sessionId: long });
    await sendPayment(sandbox, { sessionId: "z".repeat(256), customerEmail: `${long}@shop.test` });
    const page = await inspect(sandbox, { viewport: { width, height: 844 } });
    await page.getByText("1.798E308").first().waitFor();
    await openFaults(page);
    await expectAccessible(page, `inspector-${width}-long`);
  });
});

async function manyVisitors(sandbox: Sandbox, count: number, name = ""): Promise<void> {
  for (let each = 0; each < count; each += 1) {
    const id = `s${name}-${each}`;
    await sendClick(sandbox, { clickId: `c${name}-${each}`, sessionId: id, affiliateReference: id });
  }
}

async function aBusyDay(sandbox: Sandbox): Promise<void> {
  const landing = { clickedUrl: "https://shop.test/?ref=ALICE&utm_source=newsletter", source: "newsletter" };
  await sendClick(sandbox, { clickId: "9f0c2ab4e1", sessionId: "b81d77aa02", ...landing });
  await sendRegistration(sandbox, { clickId: "9f0c2ab4e1", customerId: "42", customerName: "Bo Berg" });
  await sendPayment(sandbox, { sessionId: "b81d77aa02" }, { "idempotency-key": "order-1" });
  await sendPayment(sandbox, { sessionId: "b81d77aa02" }, { "idempotency-key": "order-1" });
  await sendPayment(sandbox, { leadValue: 1200, sessionId: undefined });
  await sendClick(sandbox, { clickId: "77aa", sessionId: "s-77aa", affiliateReference: "KIRAN" });
  await sendRegistrationLead(sandbox, { sessionId: "s-77aa", customerEmail: "dana@shop.test" });
  await sendClick(sandbox, { clickId: "51ee", sessionId: "s-51ee", affiliateReference: "KIRAN" });
  await sendPayment(sandbox, { sessionId: "s-none", customerEmail: "eli@shop.test", leadValue: 12.5 });
  await sandbox.fail("503");
  await sendPayment(sandbox, { sessionId: "s-77aa", customerEmail: "dana@shop.test" });
  await sandbox.fail("ok");
  await call(sandbox, "status/b81d77aa02");
  await call(sandbox, "status/b81d77aa02", undefined, key(sandbox));
}
