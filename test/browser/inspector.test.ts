/// <reference lib="dom" />
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Sandbox } from "../../src/sandbox/index.js";
import {
  call,
  click,
  key,
  payment,
  registration,
  registrationLead,
  startSandbox,
} from "../sandbox/helpers.js";
import { hasChromium, launch, openPage, picture } from "./chromium.js";

describe.skipIf(!hasChromium)("the inspector", () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await launch();
  });
  afterAll(() => browser.close());

  test("shows a visitor's way live, as it happens", async () => {
    const sandbox = await startSandbox();
    const page = await openPage(browser);
    await page.goto(sandbox.url);
    await page.getByText("live", { exact: true }).waitFor();
    await page.getByText("Nobody yet.").waitFor();

    await call(sandbox, "click", click());
    await page.locator(".visitor").getByText("ALICE").waitFor();
    await call(sandbox, "registration", registration({ customerName: "Bo Berg" }));
    await page.locator(".visitor").getByText("ALICE, through the click id").waitFor();
    await call(sandbox, "lead/payment", payment());
    await page.locator(".visitor").getByText("ALICE, through the session id").waitFor();

    expect(await page.locator(".visitor").count()).toBe(1);
    expect(await page.locator("#affiliates tr").allTextContents()).toEqual(["ALICE11149.90"]);
  });

  test("says why something was not linked", async () => {
    const sandbox = await startSandbox();
    await call(sandbox, "registration", registration({ clickId: "late", email: "cy@shop.test" }));
    await call(sandbox, "click", click({ clickId: "late", sessionId: "session-2" }));
    await call(
      sandbox,
      "lead/registration",
      registrationLead({ sessionId: "unheard-of", customerEmail: "di@shop.test" }),
    );
    await call(sandbox, "click", click());
    await call(sandbox, "registration", registration());
    await call(sandbox, "lead/payment", payment({ customerEmail: "cy@shop.test" }));

    const page = await openPage(browser);
    await page.goto(sandbox.inspectorUrl);
    for (const reason of [
      "the click came after it",
      "no click with this session id",
      "the session's click is another visitor's",
    ]) {
      await page.getByText(`not linked: ${reason}`).waitFor();
    }
  });

  test("shows what strangers sent as text, whatever it is", async () => {
    const sandbox = await startSandbox();
    const page = await openPage(browser);
    const requested: string[] = [];
    page.on("request", (request) => requested.push(new URL(request.url()).pathname));
    page.on("dialog", (dialog) => expect.unreachable(dialog.message()));

    const evil = (name: string) =>
      `<script src="/evil-${name}"></script><img src=/evil onerror=alert('${name}')>`;
    const email = `${evil("email").replaceAll(" ", "/")}@shop.test`;
    const url = `http://shop.test/?${evil("url")}`;
    await call(sandbox, "click", {
      clientId: 1001,
      affiliateReference: evil("reference"),
      clickId: evil("click"),
      sessionId: evil("session"),
      clickedUrl: url,
      referrerUrl: url,
      userAgent: evil("agent"),
      source: evil("source"),
    });
    const customer = { customerId: evil("customer"), customerName: evil("name") };
    await call(sandbox, "registration", { clickId: evil("click"), email, ...customer });
    await call(sandbox, "registration", { clickId: evil("unknown"), email: `2${email}`, ...customer });
    await call(
      sandbox,
      "lead/registration",
      registrationLead({ customerEmail: email, customerName: evil("name"), sessionId: evil("session") }),
    );
    await call(sandbox, "lead/payment", payment({ customerEmail: email, sessionId: evil("session") }));
    await call(sandbox, `status/${encodeURIComponent(evil("path"))}?${evil("query")}`, undefined, {
      "user-agent": evil("header"),
    });
    await fetch(`${sandbox.url}/${evil("nowhere")}`, { method: "POST", body: evil("body") });

    await page.goto(sandbox.inspectorUrl);
    await page.getByText(evil("reference")).first().waitFor();
    await page.locator("#requests summary").first().click();
    await page.locator("#requests pre").getByText(evil("body")).waitFor();
    for (const name of ["name", "customer", "source", "session"]) {
      expect(await page.locator("#visitors").textContent()).toContain(evil(name));
    }
    expect(await page.locator("main script, main img").count()).toBe(0);
    expect(requested.filter((path) => path.includes("evil"))).toEqual([]);
  });

  test("has the service fail at the press of a button, counts down, and heals it", async () => {
    const sandbox = await startSandbox();
    const page = await openPage(browser);
    await page.goto(sandbox.inspectorUrl);
    await page.getByRole("button", { name: "down", exact: true }).click();
    await page.getByText(/down, ok again in (30|29) s/).waitFor();
    await expect(call(sandbox, "click", click())).rejects.toMatchObject({ cause: { code: "ECONNREFUSED" } });
    expect(await page.getByRole("button", { name: "down", exact: true }).getAttribute("aria-pressed")).toBe(
      "true",
    );
    await page.getByText(/ok again in 28 s/).waitFor();
    await picture(page, "inspector-down");

    await page.getByRole("button", { name: "ok", exact: true }).click();
    await page.getByText("All is well.").waitFor();
    expect(await call(sandbox, "click", click())).toMatchObject({ status: 201 });

    await page.getByLabel("slow by").fill("123");
    await page.locator("#duration").selectOption("until told otherwise");
    await page.getByRole("button", { name: "slow", exact: true }).click();
    await expect.poll(() => sandbox.fault).toMatchObject({ mode: "slow", delayMs: 123, until: null });
  });

  test("has a button for each fault", async () => {
    const sandbox = await startSandbox();
    const page = await openPage(browser);
    await page.goto(sandbox.inspectorUrl);
    const modes = [
      "down",
      "slow",
      "500",
      "503",
      "429",
      "401",
      "hang",
      "reset",
      "reset-after",
      "garbage",
      "ok",
    ];
    for (const mode of modes) {
      await page.locator(`#modes button[value="${mode}"]`).click();
      await expect.poll(() => sandbox.fault.mode).toBe(mode);
    }
  });

  test("works by keyboard alone", async () => {
    const sandbox = await startSandbox();
    await call(sandbox, "click", click());
    const page = await openPage(browser);
    await page.goto(sandbox.inspectorUrl);
    await page.getByText("live", { exact: true }).waitFor();
    const focus = () => page.evaluate(() => document.activeElement?.textContent?.trim());
    const tabTo = async (text: string) => {
      for (let steps = 0; (await focus()) !== text; steps += 1) {
        expect(steps).toBeLessThan(40);
        await page.keyboard.press("Tab");
      }
    };
    await tabTo("503");
    await page.keyboard.press("Enter");
    await expect.poll(() => sandbox.fault.mode).toBe("503");
    expect(await page.evaluate(() => getComputedStyle(document.activeElement as Element).outlineStyle)).toBe(
      "solid",
    );

    page.on("dialog", (dialog) => dialog.accept());
    await tabTo("Clear everything");
    await page.keyboard.press("Space");
    await page.getByText("Nobody yet.").waitFor();
    expect(sandbox.ledger.clicks()).toEqual([]);
  });

  test("filters the requests, and keeps open what was opened", async () => {
    const sandbox = await startSandbox();
    await call(sandbox, "click", click(), key(sandbox));
    await call(sandbox, "lead/payment", { nonsense: true });
    await sandbox.fail("reset");
    await call(sandbox, "registration", registration()).catch(() => {});
    await sandbox.fail("ok");
    const page = await openPage(browser);
    await page.goto(sandbox.inspectorUrl);
    const requests = page.locator("#requests > li");
    await expect.poll(() => requests.count()).toBe(3);

    for (const [answered, path] of [
      ["with success", "/click"],
      ["with 4xx", "/lead/payment"],
      ["not at all", "/registration"],
    ] as const) {
      await page.getByLabel("answered").selectOption(answered);
      expect(await requests.allTextContents()).toEqual([expect.stringContaining(path)]);
    }
    await page.getByLabel("answered").selectOption("in any way");
    await page.getByLabel("containing").fill("alice");
    expect(await requests.count()).toBe(1);

    await requests.locator("summary").click();
    expect(await requests.textContent()).toContain("authorization: Bearer •••");
    await call(sandbox, "click", click({ clickId: "click-2" }));
    await expect.poll(() => requests.count()).toBe(2);
    expect(await page.locator("#requests details[open]").count()).toBe(1);
  });

  test("finds the sandbox again after it has been away", async () => {
    const first = await startSandbox();
    const page = await openPage(browser);
    await page.goto(first.inspectorUrl);
    await page.getByText("live", { exact: true }).waitFor();
    await first.close();
    await page.getByText("the sandbox has stopped").waitFor();
    const second = await startSandbox({ inspectorPort: Number(new URL(first.inspectorUrl).port) });
    await page.getByText("live", { exact: true }).waitFor();
    expect(await page.locator("#about").textContent()).toContain(second.url);
  });

  test("reads well on a desk, on a phone, by day and by night", async () => {
    const sandbox = await startSandbox();
    await aBusyDay(sandbox);
    for (const [name, options] of Object.entries({
      "inspector-desktop": { viewport: { width: 1280, height: 900 } },
      "inspector-dark": { viewport: { width: 1280, height: 900 }, colorScheme: "dark" },
      "inspector-phone": { viewport: { width: 390, height: 844 }, deviceScaleFactor: 2 },
      "inspector-phone-dark": {
        viewport: { width: 390, height: 844 },
        deviceScaleFactor: 2,
        colorScheme: "dark",
      },
    } as const)) {
      const page = await openPage(browser, options);
      await page.goto(sandbox.inspectorUrl);
      await page.getByText("live", { exact: true }).waitFor();
      await page.locator("#requests summary").first().click();
      await picture(page, name);
      const tooWide = await page.evaluate(() => document.documentElement.scrollWidth > window.innerWidth);
      expect(tooWide).toBe(false);
    }
  });
});

async function aBusyDay(sandbox: Sandbox): Promise<void> {
  const landing = { clickedUrl: "https://shop.test/?ref=ALICE&utm_source=newsletter", source: "newsletter" };
  await call(sandbox, "click", click({ clickId: "9f0c2ab4e1", sessionId: "b81d77aa02", ...landing }));
  await call(
    sandbox,
    "registration",
    registration({ clickId: "9f0c2ab4e1", customerId: "42", customerName: "Bo Berg" }),
  );
  await call(sandbox, "lead/payment", payment({ sessionId: "b81d77aa02" }), { "idempotency-key": "order-1" });
  await call(sandbox, "lead/payment", payment({ sessionId: "b81d77aa02" }), { "idempotency-key": "order-1" });
  await call(sandbox, "lead/payment", payment({ leadValue: 1200, sessionId: undefined }));
  await call(sandbox, "click", click({ clickId: "77aa", sessionId: "s-77aa", affiliateReference: "KIRAN" }));
  await call(
    sandbox,
    "lead/registration",
    registrationLead({ sessionId: "s-77aa", customerEmail: "dana@shop.test" }),
  );
  await call(sandbox, "click", click({ clickId: "51ee", sessionId: "s-51ee", affiliateReference: "KIRAN" }));
  await call(
    sandbox,
    "lead/payment",
    payment({ sessionId: "s-none", customerEmail: "eli@shop.test", leadValue: 12.5 }),
  );
  await sandbox.fail("503");
  await call(sandbox, "lead/payment", payment({ sessionId: "s-77aa", customerEmail: "dana@shop.test" }));
  await sandbox.fail("ok");
  await call(sandbox, "status/b81d77aa02");
  await call(sandbox, "status/b81d77aa02", undefined, key(sandbox));
}
