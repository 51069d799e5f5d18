/// <reference lib="dom" />
import express from "express";
import type { Affiliate } from "express-affiliate";
import { dashboard } from "express-affiliate/dashboard";
import type { BrowserContextOptions, Page } from "playwright-core";
import { expect, onTestFinished, test } from "vitest";
import { serve } from "../../example-app/serve.js";
import { listen } from "../dashboard/helpers.js";
import { returning } from "../helpers/conversions.js";
import { answering, type FaultyService, faultyService, hangingUp } from "../helpers/faulty-service.js";
import { startTracker } from "../helpers/tracker.js";
import { withResolvers } from "../helpers/with-resolvers.js";
import { describeInChromium, expectAccessible, expectAccessibleInEachLook, picture } from "./chromium.js";

const order = { customerEmail: "ada@shop.example", leadValue: 39.9 };

describeInChromium("the dashboard", ({ openPage }) => {
  /** A host with the dashboard, and the service behind it. */
  async function startHost() {
    const service = await faultyService();
    const tracker = startTracker({ baseUrl: service.url });
    const app = express().use("/admin/affiliate", dashboard(tracker, { authorize: () => true }));
    return { service, tracker, app, url: `${await listen(app)}/admin/affiliate` };
  }

  /** The dashboard of a host after a busy day, and the questions that it asks. */
  async function openBusyDay(accepts?: boolean) {
    const host = await startHost();
    await aBusyDay(host.tracker, host.service);
    const page = await open(host.url);
    return { ...host, page, asked: answerQuestions(page, accepts) };
  }

  async function open(url: string, options?: BrowserContextOptions): Promise<Page> {
    const page = await openPage(options);
    // It asks for the state twice a second, not once in two.
    await page.addInitScript(() => {
      const { setTimeout } = window;
      Object.assign(window, { setTimeout: (task: () => void, ms: number) => setTimeout(task, ms / 4) });
    });
    await page.goto(url);
    await page.getByText("live", { exact: true }).waitFor();
    return page;
  }

  test("shows what was given up with its amount, what to decide, and in words what the plot shows", async () => {
    const { page } = await openBusyDay();
    const held = letter(page, "order-1044");
    await held.getByText("1,118.25").waitFor();
    await held.getByRole("button", { name: "Retry…" }).waitFor();
    const hour = page.getByRole("region", { name: "The last hour" });
    for (const lane of ["Delivered", "Failed"]) {
      const name = new RegExp(`^${lane}, by ten minutes of the last hour: 0, 0, 0, 0, 0, [1-9]\\d*$`);
      await hour.getByRole("img", { name }).waitFor();
    }
    await hour.getByText(/tried again, 2 held, 3 given up$/).waitFor();
    await picture(page, "dashboard-busy");
  });

  test("shows the dead letters that were chosen last, whichever are read last", async () => {
    const { page } = await openBusyDay();
    const asked = withResolvers();
    const chosen = withResolvers();
    await page.route(/reason=rejected/, async (route) => {
      const response = await route.fetch();
      asked.resolve();
      await chosen.promise;
      await route.fulfill({ response });
    });
    const reason = page.getByLabel("Reason", { exact: true });
    await reason.selectOption("rejected");
    await asked.promise;
    await reason.selectOption("unconfirmed");
    const retryAll = page.getByRole("button", { name: /^Retry all/ });
    await expect.poll(() => retryAll.textContent()).toContain("all unconfirmed events");
    const late = page.waitForResponse(/reason=rejected/);
    chosen.resolve();
    await late;
    // It is asked for after the late answer was shown, or was not.
    await page.waitForResponse(/\/state$/);
    expect(await retryAll.textContent()).toContain("all unconfirmed events");
  });

  test("walks: unconfirmed payments are decided, and all is well again", async () => {
    const example = await serve();
    onTestFinished(example.close);
    const { sandbox, tracker } = example;
    // At the page's own pace. Two payments in doubt within a second pause their endpoint for 45 s.
    const page = await openPage();
    await page.goto(example.dashboardUrl);
    await page.getByText("All is well.").waitFor();

    // Recorded, and the answer is lost: it is there.
    await sandbox.fail("reset-after");
    await pay(tracker, "order-there", 118);
    // Not recorded, and no answer either: it is not there.
    await letter(page, "order-there").waitFor();
    await sandbox.fail("reset");
    await pay(tracker, "order-missing", 64.5);
    await letter(page, "order-missing").waitFor();
    await sandbox.fail("ok");
    await page.getByRole("link", { name: "decide what to do" }).click();
    await page.getByRole("button", { name: "Retry all unconfirmed events…" }).waitFor();

    const asked = answerQuestions(page);
    await letter(page, "order-there").getByRole("button", { name: "Discard…" }).click();
    await page.getByText("It is discarded.").first().waitFor();
    await letter(page, "order-there").waitFor({ state: "detached" });

    await letter(page, "order-missing").getByRole("button", { name: "Retry…" }).click();
    await page.getByText("It is queued again").first().waitFor();
    expect(asked).toEqual([
      expect.stringMatching(/^Discard payment order-there of 118.00\?/),
      expect.stringMatching(
        /^Send payment order-missing of 64.50 again\?.* for a\*\*\*@shop.example between /s,
      ),
    ]);
    await page.getByText("All is well.").waitFor();
    await expect
      .poll(() => sandbox.ledger.payments())
      .toMatchObject([{ leadValue: 118 }, { leadValue: 64.5 }]);
  });

  test("has a row for the wrapped handlers that answered and reported nothing, with their number", async () => {
    const { app, tracker, url } = await startHost();
    app.post("/pay", tracker.onPayment(returning(undefined)));
    const table = (await open(url)).getByRole("table", { name: "Not reported" });
    const body = () => table.locator("tbody tr").allInnerTexts();
    expect(await body()).toEqual(["none\t0"]);
    for (let visit = 0; visit < 2; visit++) await fetch(new URL("/pay", url), { method: "POST" });
    await expect.poll(body).toEqual(["unreported: a wrapped handler answered, and returned no payment\t2"]);
  });

  test("says that events were dropped, also at an address with a password", async () => {
    const { tracker, url } = await startHost();
    await tracker.trackPayment({ ...order, paymentId: "wrong", leadValue: -1 }, { sessionId: "s1" });
    const page = await open(url.replace("//", "//operator:secret@"));
    await page.getByText("1 event dropped since this process started").waitFor();
  });

  test("sends nothing again if the reader cancels, and gives the focus back", async () => {
    const { tracker, service, page, asked } = await openBusyDay(false);
    const retry = letter(page, "order-1043").getByRole("button", { name: "Retry…" });
    await retry.focus();
    const sent = service.requests.length;
    await page.keyboard.press("Enter");
    expect(asked).toHaveLength(1);
    expect(await retry.evaluate((button) => document.activeElement === button)).toBe(true);
    expect(service.requests).toHaveLength(sent);
    expect(tracker.stats().dead.unconfirmed).toBe(2);
  });

  test("discards and retries by keyboard alone, and keeps the focus among the dead letters", async () => {
    const { service, page, asked } = await openBusyDay();
    const rows = page.locator(".letter");
    await expect.poll(() => rows.count()).toBe(5);
    const focused = () =>
      page.evaluate(() => document.activeElement?.closest(".letter")?.querySelector("code")?.textContent);

    await letter(page, "4003").getByRole("button", { name: "Discard…" }).focus();
    expect(await page.locator(":focus").evaluate((button) => getComputedStyle(button).outlineStyle)).toBe(
      "solid",
    );
    await page.keyboard.press("Enter");
    await expect.poll(() => rows.count()).toBe(4);
    expect(asked).toEqual([expect.stringMatching(/^Discard registration 4003\?/)]);
    await expect.poll(focused).not.toBeUndefined();

    service.onRequest = answering(200);
    await letter(page, "order-1042").getByRole("button", { name: "Retry" }).focus();
    await page.keyboard.press("Enter");
    await expect.poll(() => rows.count()).toBe(3);
    await expect.poll(focused).not.toBeUndefined();
  });

  test("retries all but what is unconfirmed, and all of that only after a question that names the sum", async () => {
    const { tracker, service, page, asked } = await openBusyDay();
    service.onRequest = answering(200);
    await page.getByRole("button", { name: "Retry all", exact: true }).click();
    await page.getByText("3 events queued again. 2 unconfirmed stay").first().waitFor();
    await expect.poll(() => tracker.stats().dead).toEqual({ rejected: 0, unconfirmed: 2, expired: 0 });
    expect(asked).toEqual([]);

    await page.getByLabel("Reason", { exact: true }).selectOption("unconfirmed");
    await page.getByLabel("Kind", { exact: true }).selectOption("payment");
    const sent = service.requests.length;
    await page.getByRole("button", { name: "Retry all unconfirmed payments…" }).click();
    await page.getByText("None is like that.").waitFor();
    expect(asked).toEqual([
      expect.stringMatching(
        /^Send 2 events again that the service may have\? 2 payments of 1,236.25 in all\./,
      ),
    ]);
    await expect.poll(() => service.requests.length).toBe(sent + 2);
  });

  test("offers nothing but to discard a dead letter that cannot be read, also if it is held", async () => {
    const { page } = await openBusyDay();
    await page.route("**/dead-letters*", async (route) => {
      const { letters, ...list } = await (await route.fetch()).json();
      await route.fulfill({
        json: { ...list, letters: letters.map((each: object) => ({ ...each, unreadable: true })) },
      });
    });
    await page.reload();
    const buttons = letter(page, "order-1043").getByRole("button");
    await expect.poll(() => buttons.allTextContents()).toEqual(["Discard…"]);
  });

  test("shows what strangers sent as text, whatever it is", async () => {
    const evil = (name: string) => `<script src="/evil-${name}"></script><img src=/evil onerror=alert(1)>`;
    const { url, tracker, service } = await startHost();
    service.onRequest = answering(422, { error: evil("error"), message: evil("message"), status: 422 });
    const page = await openPage();
    const requested: string[] = [];
    page.on("request", (request) => requested.push(request.url()));
    const asked = answerQuestions(page, false);
    await page.goto(url);
    const email = "<img/src=/evil/onerror=alert(2)>@shop.example";
    const payment = { paymentId: evil("payment"), customerEmail: email, leadValue: 1 };
    await tracker.trackPayment(payment, { sessionId: "s1" });
    const registration = { email, customerId: evil("customer"), customerName: evil("name") };
    await tracker.trackRegistration(registration, { clickId: "<img/src=/evil>" });
    await tracker.trackClick({ affiliateReference: "<img/src=/evil>" }, { clickId: "<script/src=/evil>" });
    await expect.poll(() => page.locator(".letter").count()).toBe(3);
    for (const name of ["message", "payment", "customer"])
      expect(await page.getByRole("main").textContent()).toContain(`<script src="/evil-${name}">`);
    await page.getByRole("button", { name: "Discard…" }).first().click();
    expect(asked).toEqual([expect.stringMatching(/^Discard payment <script src="\/evil-payment">/)]);
    expect(await page.locator("main script, main img").count()).toBe(0);
    expect(requested.filter((each) => each.includes("evil") || !each.startsWith(url))).toEqual([]);
  });

  test("says when its server is gone, turns its buttons off, and goes on when it is back", async () => {
    const { page } = await openBusyDay();
    await page.locator(".letter").first().waitFor();
    await page.route("**/state", (route) => route.abort());
    await page.getByText(/The server does not answer. Nothing new since/).waitFor();
    expect(await page.getByRole("button", { name: "Retry all" }).isDisabled()).toBe(true);
    await expectAccessible(page, "dashboard-stopped");
    await page.unroute("**/state");
    await page.getByText("live", { exact: true }).waitFor();
    expect(await page.getByRole("button", { name: "Retry all" }).isEnabled()).toBe(true);

    const storageFails = { message: "The outbox does not answer: its storage fails." };
    await page.route("**/dead-letters*", (route) => route.fulfill({ status: 503, json: storageFails }));
    await page.getByLabel("Kind", { exact: true }).selectOption("payment");
    await page.getByText(storageFails.message).waitFor();
    await page.getByText("live", { exact: true }).waitFor();
    await page.unroute("**/dead-letters*");
    await page.getByText(storageFails.message).waitFor({ state: "detached" });
    expect(await page.locator(".letter").count()).toBe(3);

    await page.route("**/retry?*", (route) => route.fulfill({ status: 403, body: "Forbidden" }));
    await page.getByRole("button", { name: "Retry", exact: true }).first().click();
    await page.getByText("You may not do this.").waitFor();
    await expectAccessible(page, "dashboard-refused");
  });

  test("stays with the numbers of one process, if a load balancer has several answer in turn", async () => {
    const service = await faultyService();
    const [one, other] = [startTracker({ baseUrl: service.url }), startTracker({ baseUrl: service.url })];
    const mounted = [one, other].map((tracker) => dashboard(tracker, { authorize: () => true }));
    let turn = 0;
    const app = express().use("/admin", (req, res, next) => mounted[turn++ % 2]?.(req, res, next));
    const url = await listen(app);
    for (let n = 0; n < 3; n++) await pay(one, `one-${n}`);
    await pay(other, "other");
    const page = await open(`${url}/admin`);
    const delivered = page.locator(".lane .quiet").first();
    const first = await delivered.textContent();
    expect(["1 event", "3 events"]).toContain(first);
    for (const before = turn; turn < before + 6; ) {
      expect(await delivered.textContent()).toBe(first);
      await page.waitForResponse(/\/state$/);
    }
  });

  test.each([390, 320])("fits %s px, whatever the numbers, ids and names", async (width) => {
    const long = "w".repeat(200);
    const { url, tracker, service } = await startHost();
    service.onRequest = answering(422, { error: long, message: long, status: 422 });
    const payment = { paymentId: long, customerEmail: `a@${long}.example`, leadValue: Number.MAX_VALUE };
    await tracker.trackPayment(payment, { sessionId: "s" });
    await tracker.trackClick({ affiliateReference: long }, { clickId: long });
    const page = await open(url, { viewport: { width, height: 844 } });
    await expect.poll(() => page.locator(".letter").count()).toBe(2);
    await expectAccessible(page, `dashboard-${width}-long`);
  });

  test("has nothing that axe objects to, and is no wider than the window, in any look", async () => {
    const { url, tracker, service } = await startHost();
    const page = await open(url);
    const see = (state: string) => expectAccessibleInEachLook(page, `dashboard-${state}`);
    await see("empty");

    await aBusyDay(tracker, service);
    await page.reload();
    await page.locator(".letter").nth(4).waitFor();
    await see("dead-letters");

    await service.stop();
    for (let n = 0; n < 12; n++) await pay(tracker, `waiting-${n}`);
    await tracker.trackClick({ affiliateReference: "ALICE" }, { clickId: "late" });
    const scheduled = { ...order, paymentId: "later", notBefore: new Date(Date.now() + 7_190_000) };
    await tracker.trackPayment(scheduled, { sessionId: "later" });
    await page.getByText("Scheduled: 1 payment, the first to be sent in 1 h.").waitFor();
    await page.getByText("Delivery is paused to the service.").waitFor();
    await rowOf(page, "Endpoints", "lead/payment").getByText("paused: it cannot be reached").waitFor();
    await rowOf(page, "Waiting", "click").getByText("1", { exact: true }).waitFor();
    await page.getByText(/^payment not delivered, tried again: .*ECONNREFUSED/).waitFor();
    await see("outage");
  }, 180_000);
});

const letter = (page: Page, name: string) => page.locator(".letter").filter({ hasText: name });

/** Answers the page's questions, and collects them. */
function answerQuestions(page: Page, accepts = true): string[] {
  const asked: string[] = [];
  page.on("dialog", (dialog) => {
    asked.push(dialog.message());
    void (accepts ? dialog.accept() : dialog.dismiss());
  });
  return asked;
}

const rowOf = (page: Page, section: string, name: string) =>
  page.getByRole("region", { name: section }).getByRole("row").filter({ hasText: name });

function pay(tracker: Affiliate, paymentId: string, leadValue = order.leadValue) {
  return tracker.trackPayment({ ...order, paymentId, leadValue }, { sessionId: paymentId });
}

/** Has a payment delivered once the others are: two in a row in doubt pause their endpoint. */
async function takes(tracker: Affiliate, paymentId: string): Promise<void> {
  await expect.poll(() => tracker.stats().queued).toBe(0);
  await pay(tracker, paymentId);
  await expect.poll(() => tracker.stats().queued).toBe(0);
}

/**
 * Events of all kinds; some are refused, and of two payments it is not known whether they arrived.
 */
async function aBusyDay(tracker: Affiliate, service: FaultyService): Promise<void> {
  const said = { error: "Unprocessable", message: "there is no customer ada@shop.example", status: 422 };
  service.onRequest = (socket, received, nth) => {
    const answer = received.body.includes("118")
      ? hangingUp
      : received.body.includes("bad")
        ? answering(422, said)
        : answering(200);
    answer(socket, received, nth);
  };
  for (let n = 0; n < 9; n++) await tracker.trackClick({ affiliateReference: "ALICE" }, { clickId: `c${n}` });
  for (let n = 0; n < 5; n++)
    await tracker.trackRegistration(
      { email: `${n === 3 ? "bad" : "bo"}${n}@shop.example`, customerId: 4000 + n },
      { clickId: `c${n}` },
    );
  const refused = { paymentId: "order-1042", customerEmail: "bad@shop.example", leadValue: 64.5 };
  await tracker.trackPayment(refused, { sessionId: "bad" });
  await tracker.trackClick({ affiliateReference: "bad-reference" }, { clickId: "c-unknown" });
  for (let n = 0; n < 2; n++) await pay(tracker, `order-${1050 + n}`);
  await pay(tracker, "order-1043", 118);
  await takes(tracker, "order-1052");
  await pay(tracker, "order-1044", 1118.25);
  await takes(tracker, "order-1053");
  await pay(tracker, "free", 0);
  await tracker.trackRegistration({ email: "cy@shop.example" });
  await tracker.trackPayment({ ...order, paymentId: "wrong", leadValue: -1 }, { sessionId: "s1" });
  await expect.poll(() => tracker.stats().dead).toMatchObject({ rejected: 3, unconfirmed: 2 });
}
