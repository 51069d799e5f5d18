import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import express from "express";
import type { Attribution } from "express-affiliate";
import request from "supertest";
import { describe, expect, it } from "vitest";
import { returning } from "../helpers/conversions.js";
import { browser, pageToRun, startShop } from "../helpers/docs/run.js";
import { serve } from "../helpers/express.js";
import { scratchDirectory } from "../helpers/scratch.js";

// What browsers make of it is in test/browser/pages-and-apps.test.ts.
const page = pageToRun("docs/pages-and-apps.md");

const email = "ada@shop.example";
const json = express.json();
const process = { env: { APP_ORIGIN: "https://app.shop.example" } };

it("server-rendered pages are landing pages wherever a link leads, static files too", async () => {
  const { app, tracker, sandbox } = await startShop();
  const directory = scratchDirectory();
  mkdirSync(join(directory, "sale"));
  writeFileSync(join(directory, "sale/index.html"), "Sale");
  writeFileSync(join(directory, "style.css"), "");
  app.use(tracker.onClick(), express.static(directory));
  const visitor = browser(app);
  await visitor.get("/style.css?ref=ALICE").set("Accept", "text/css").expect(200);
  const { headers } = await visitor.get("/sale/?ref=ALICE").expect(200, "Sale");
  expect(headers["cache-control"]).toContain("private");
  await tracker.flush();
  expect(sandbox.ledger.clicks()).toMatchObject([{ affiliateReference: "ALICE" }]);
});

describe("an API on a subdomain", () => {
  it("shares its cookies with the whole domain", async () => {
    const { app, tracker } = await startShop();
    await page.run("An API on a subdomain", { app, tracker });
    app.get("/", (_req, res) => void res.send("Welcome"));
    const { headers } = await browser(app).get("/?ref=ALICE");
    expect(headers["set-cookie"]).toEqual([
      expect.stringMatching(/^svc_click_id=.*Domain=shop\.example; .*SameSite=Lax/),
      expect.stringMatching(/^svc_session_id=.*Domain=shop\.example; .*HttpOnly.*SameSite=Lax/),
    ]);
  });

  it("lets the app's pages send cookies, and other pages not", async () => {
    const { app } = await startShop();
    await page.run("An API on a subdomain", { app, process }, { nth: 1 });
    const { headers } = await request(app).options("/signup").set("Origin", "https://app.shop.example");
    expect(headers).toMatchObject({
      "access-control-allow-origin": "https://app.shop.example",
      "access-control-allow-credentials": "true",
    });
  });

  it("is asked with credentials", async () => {
    const asked: RequestInit[] = [];
    const fetch = async (_url: string, init: RequestInit) => void asked.push(init);
    await page.run("An API on a subdomain", { fetch, apiUrl: "", email }, { nth: 2 });
    expect(asked).toMatchObject([{ credentials: "include" }]);
  });
});

describe("an API on another domain", () => {
  async function api() {
    const shop = await startShop({ before: [json] });
    const kept: Attribution[] = [];
    const users = {
      create: async (fields: object) => ({ id: 7, email, ...fields }),
      update: async (_id: number, row: { affiliate: Attribution }) => void kept.push(row.affiliate),
    };
    await page.run("An API on another domain", { ...shop, users, process }, { nth: 1 });
    return { ...shop, kept };
  }

  it("gets the ids of the page's cookies in a header", async () => {
    const { app, tracker, sandbox, kept } = await api();
    await tracker.client.click({ affiliateReference: "ALICE", clickId: "c1", sessionId: "s1" });
    const { port } = await serve(app);
    const document = { cookie: "theme=dark; svc_click_id=c1; other=1; svc_session_id=s1" };
    await page.run("An API on another domain", { document, apiUrl: `http://127.0.0.1:${port}`, email });
    await sandbox.ledger.waitFor({ kind: "registration", affiliateReference: "ALICE" });
    expect(kept).toEqual([{ clickId: "c1", sessionId: "s1" }]);
  });

  it.each([
    "",
    "svc_click_id",
    "svc_click_id=a b",
    'svc_click_id=j:{"a":1}',
    `svc_click_id=${"x".repeat(300)}`,
  ])("takes %j for no id", async (header) => {
    const { app, tracker, kept } = await api();
    await request(app).post("/signup").set("x-visitor", header).send({ email }).expect(201);
    expect(kept).toEqual([{}]);
    expect(tracker.stats().skipped["no-attribution"]).toBe(1);
  });
});

describe("a mobile app", () => {
  async function withApp() {
    const session = (req: express.Request) => req.get("x-visitor-id");
    const { app, tracker, sandbox } = await startShop({ before: [json], session });
    await page.run("Mobile apps", { app });
    const payment = { paymentId: "o1", customerEmail: email, leadValue: 19.9 };
    app.post("/pay", tracker.onPayment(returning(payment)));
    return { sandbox, app, tracker };
  }

  it("is known by its own id from the opening to the payment", async () => {
    const { sandbox, app, tracker } = await withApp();
    const ask = (path: string) => request(app).post(path).set("x-visitor-id", "v1");
    const opened = { ref: "ALICE", openId: "open-1" };
    await ask("/opened").send(opened).expect(202);
    await ask("/opened").send(opened).expect(202);
    await ask("/pay").expect(200);
    await tracker.flush();
    expect(sandbox.ledger.clicks()).toHaveLength(1);
    expect(sandbox.ledger.payments()).toMatchObject([{ affiliateReference: "ALICE", sessionId: "v1" }]);
  });

  it("learns that a link was none", async () => {
    const { app } = await withApp();
    const opened = { ref: { $ne: 1 } };
    await request(app).post("/opened").send(opened).expect(400);
  });
});

it("a tunnel gives the click its public address, and the cookies `Secure`", async () => {
  const { app, tracker, sandbox } = await startShop();
  await page.run("A tunnel to your machine", { app });
  app.get("/", tracker.onClick(), (_req, res) => void res.end());
  const { headers } = await browser(app)
    .get("/?ref=ALICE")
    .set({ "X-Forwarded-Proto": "https", "X-Forwarded-Host": "b7.tunnel.example" });
  const { clickedUrl } = await sandbox.ledger.waitFor({ kind: "click" });
  expect(clickedUrl).toBe("https://b7.tunnel.example/?ref=ALICE");
  expect(String(headers["set-cookie"]).match(/; Secure/g)).toHaveLength(2);
});
