import type { Page } from "playwright-core";
import { expect, onTestFinished, test } from "vitest";
import { serve } from "../../example-app/serve.js";
import { describeInChromium, picture } from "./chromium.js";

describeInChromium("the example shop beside the inspector", ({ openPage, openShopper }) => {
  async function openShop() {
    const example = await serve();
    onTestFinished(example.close);
    const inspector = await openPage();
    await inspector.goto(example.sandbox.url);
    await inspector.getByText("live", { exact: true }).waitFor();
    return { ...example, inspector, shop: await openShopper() };
  }

  async function signUp(shop: Page, name: string): Promise<void> {
    await shop.getByLabel("Name").fill(name);
    await shop.getByLabel("E-mail").fill(`${name.toLowerCase()}@customers.example`);
    await shop.getByRole("button", { name: "Sign up" }).click();
    await shop.getByText(`Hello, ${name}`).waitFor();
  }

  async function buy(shop: Page, product: string): Promise<void> {
    const item = shop.getByRole("listitem").filter({ hasText: product });
    await item.getByRole("button", { name: "Buy" }).click();
    await shop.getByRole("button", { name: /^Pay/ }).click();
    await shop.getByText("Thank you").waitFor();
  }

  test.each([
    ["the browser snippet", "/?ref=ALICE"],
    ["the server", "/welcome?via=ALICE"],
  ])("shows click, sign-up and payment as one chain to ALICE, the click by %s", async (_, landing) => {
    const { shop, inspector, shopUrl, sandbox } = await openShop();
    await shop.goto(`${shopUrl}${landing}&utm_source=newsletter`);
    const visitor = inspector.locator(".visitor");
    await visitor.getByText("ALICE").first().waitFor();
    await signUp(shop, "Grace");
    await visitor.getByText(/ALICE, through the click id/).waitFor();
    await buy(shop, "Reading lamp");
    await visitor.getByText(/ALICE, through the session id/).waitFor();
    await shop.reload();
    expect(await visitor.count()).toBe(1);
    expect(sandbox.ledger.payments()).toMatchObject([{ leadValue: 64.5, affiliateReference: "ALICE" }]);
  });

  test("an outage is something that the shopper does not notice, and then the payment appears", async () => {
    const { shop, inspector, shopUrl, tracker, sandbox } = await openShop();
    await shop.goto(`${shopUrl}/?ref=ALICE`);
    await signUp(shop, "Grace");
    await buy(shop, "Reading lamp");
    const visitor = inspector.locator(".visitor");
    await visitor.getByText("64.50").waitFor();

    await inspector.locator("summary").getByText("Faults").click();
    await inspector.getByRole("button", { name: "down", exact: true }).click();
    await inspector.getByText(/^down since/).waitFor();
    await shop.goto(shopUrl);
    await buy(shop, "Enamel kettle");
    expect(tracker.stats()).toMatchObject({ queued: 1 });
    expect(await visitor.getByText("39.90").count()).toBe(0);
    await picture(inspector, "outage");

    await inspector.getByRole("button", { name: "ok", exact: true }).click();
    await visitor.getByText("39.90").waitFor();
    expect(sandbox.ledger.payments({ affiliateReference: "ALICE" })).toHaveLength(2);
    await picture(inspector, "recovered");
  });

  test("the snippet keeps its ids in the shop's cookies, and a reload is no second click", async () => {
    const { shop, shopUrl, sandbox } = await openShop();
    await shop.goto(`${shopUrl}/?ref=ALICE&utm_source=newsletter`);
    const first = await sandbox.ledger.waitFor({ kind: "click" });
    expect(first).toMatchObject({
      affiliateReference: "ALICE",
      source: "newsletter",
      clickedUrl: `${shopUrl}/?ref=ALICE&utm_source=newsletter`,
      userAgent: expect.stringContaining("Mozilla"),
    });
    const all = await shop.context().cookies(shopUrl);
    const cookies = Object.fromEntries(all.map(({ name, value }) => [name, value]));
    expect(cookies).toMatchObject({ svc_click_id: first.clickId, svc_session_id: first.sessionId });

    await shop.reload();
    await shop.goto(`${shopUrl}/?ref=BOB`);
    const second = await sandbox.ledger.waitFor({ kind: "click", affiliateReference: "BOB" });
    expect(second.sessionId).toBe(first.sessionId);
    expect(sandbox.ledger.clicks()).toHaveLength(2);
  });
});
