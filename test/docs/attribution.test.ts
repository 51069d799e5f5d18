import { createHash, createHmac } from "node:crypto";
import express, { type Express } from "express";
import session from "express-session";
import request from "supertest";
import { describe, expect, it } from "vitest";
import type { Attribution } from "../../src/index.js";
import type { Order, User } from "../helpers/docs/attribution.js";
import { pageToRun } from "../helpers/docs/run.js";
import { browser, closing, envFor, referred, startShop } from "../helpers/docs/shop.js";

const page = pageToRun("docs/attribution.md");

const ada = { id: 7, email: "ada@shop.example", name: "Ada" };
const users = (user: User = ada) => ({
  create: async (fields: Omit<User, "id">): Promise<User> => ({ ...fields, id: 7 }),
  byCustomer: async () => user,
});
const expressSession = session({ secret: "s", resave: false, saveUninitialized: false });
const json = express.json();

describe("clicks", () => {
  it("are counted by the server where it is asked to", async () => {
    const { app, tracker, sandbox } = await startShop();
    await page.run("Clicks: the snippet or the server", { app, tracker });
    await browser(app).get("/?ref=ALICE").expect(200, "Welcome");
    await sandbox.ledger.waitFor({ kind: "click", affiliateReference: "ALICE" });
  });

  it("are counted twice where the snippet counts them too", async () => {
    const { app, tracker, sandbox } = await startShop();
    app.get("/", tracker.onClick(), (_req, res) => void res.send("Welcome"));
    const { client } = tracker;
    await client.click({ affiliateReference: "ALICE", clickId: "of-the-snippet", sessionId: "s1" });
    await browser(app).get("/?ref=ALICE").set("Cookie", "svc_click_id=of-the-snippet; svc_session_id=s1");
    await tracker.flush();
    expect(sandbox.ledger.clicks()).toHaveLength(2);
  });

  it("are found under another parameter where one is named", async () => {
    const { app, tracker, sandbox } = await startShop();
    app.get("/", tracker.onClick({ param: "via" }), (_req, res) => void res.send("Welcome"));
    await browser(app).get("/?ref=elsewhere&via=ALICE");
    await tracker.flush();
    expect(sandbox.ledger.clicks()).toMatchObject([{ affiliateReference: "ALICE" }]);
  });
});

describe("the session id", () => {
  function seen(app: Express): Attribution[] {
    const all: Attribution[] = [];
    app.use((req, res) => {
      all.push({ ...req.affiliate?.snapshot() });
      Object.assign(Object(req).session ?? {}, { userId: 7 });
      res.end();
    });
    return all;
  }

  it("is what `session` says", async () => {
    const { sandbox } = await startShop();
    const { tracker } = await page.run("Where the ids come from", {
      process: { env: envFor(sandbox) },
    });
    const app = express().use(closing(tracker));
    const attributions = seen(app);
    await request(app).get("/").set({ "X-Visitor-Id": "v1", Cookie: "svc_session_id=s1; svc_click_id=c1" });
    expect(attributions).toEqual([{ clickId: "c1", sessionId: "v1" }]);
  });

  it("is the digest of an express-session that the request brought, and of no new one", async () => {
    const { app } = await startShop({ before: [expressSession] });
    const attributions = seen(app);
    const agent = request.agent(app);
    const { headers } = await agent.get("/");
    await agent.get("/");
    const [, id = ""] = /s%3A([^.]+)\./.exec(String(headers["set-cookie"])) ?? [];
    expect(attributions).toEqual([{}, { sessionId: createHash("sha256").update(id).digest("hex") }]);
  });

  it("is that of before the login that regenerates the session", async () => {
    const { app, tracker, sandbox } = await startShop({ before: [json, expressSession] });
    app.get("/", tracker.onClick(), (_req, res) => void res.send("Welcome"));
    await page.run("Sessions that are regenerated at login", { app, tracker, users: users() });
    const visitor = browser(app);
    await visitor.get("/?ref=ALICE");
    await visitor.post("/signup").send(ada).expect(303);
    await sandbox.ledger.waitFor({ kind: "registration", customerId: "7", affiliateReference: "ALICE" });
  });
});

describe("an OAuth sign-up", () => {
  it("is reported in the callback, and a login is not", async () => {
    const { app, tracker, sandbox } = await startShop();
    const signIn = async (code: unknown) => ({ user: ada, isNew: code === "first" });
    await page.run("OAuth sign-ups", { app, tracker, signIn });
    const visitor = referred(app);
    await visitor.get("/auth/callback?code=again").expect(302);
    await tracker.flush();
    expect(sandbox.ledger.registrations()).toEqual([]);
    await visitor.get("/auth/callback?code=first").expect(302);
    await sandbox.ledger.waitFor({ kind: "registration", clickId: "c1", customerId: "7" });
  });

  it("is attributed where the provider's POST brings no cookie", async () => {
    const { app, tracker, sandbox } = await startShop({ before: [express.urlencoded()] });
    const signIn = async () => ({ user: ada, isNew: true });
    const pending = new Map<string, Attribution>();
    await page.run("OAuth sign-ups", { app, tracker, signIn, pending }, { nth: 1 });
    const { headers } = await referred(app).get("/auth/start").expect(302);
    const state = new URL(String(headers.location)).searchParams.get("state");
    await request(app).post("/auth/form-callback").type("form").send({ code: "x", state }).expect(303);
    await sandbox.ledger.waitFor({ kind: "registration", clickId: "c1", customerId: "7" });
  });
});

describe("a route that signs up and sells", () => {
  it("reports the sign-up before the payment, and no sign-up of a customer who is known", async () => {
    const { app, tracker, sandbox } = await startShop({ before: [json] });
    const buy = async ({ id, isNew }: { id: string; isNew: boolean }) => ({
      user: ada,
      isNew,
      order: { id, total: 19.9 },
    });
    await page.run("Sign-up and purchase in one route", { app, tracker, buy });
    const visitor = referred(app);
    await visitor.post("/guest-checkout").send({ id: "o1", isNew: true }).expect(201);
    await visitor.post("/guest-checkout").send({ id: "o2", isNew: false }).expect(201);
    await tracker.flush();
    expect(sandbox.ledger.leads().map(({ kind }) => kind)).toEqual(["registration", "payment", "payment"]);
  });
});

describe("a handler that is not Express's", () => {
  it("reports with the ids of its own request", async () => {
    const { tracker, sandbox } = await startShop();
    const { handleSignup } = await page.run("Handlers that are not Express's", {
      tracker,
      users: users(ada),
    });
    const response = await handleSignup(
      new Request("http://shop.example/signup", {
        method: "POST",
        headers: { cookie: "svc_click_id=c1" },
        body: JSON.stringify({ email: ada.email }),
      }),
    );
    expect(response.status).toBe(201);
    await sandbox.ledger.waitFor({ kind: "registration", clickId: "c1", customerId: "7" });
  });
});

describe("a payment months later", () => {
  const charge = { id: "ch_1", customer: "cus_7", amount: 1990 };
  const succeeded = (id: string) => JSON.stringify({ id, type: "charge.succeeded", charge });

  async function gateway(user: User) {
    const shop = await startShop();
    const process = { env: { GATEWAY_SECRET: "whsec" } };
    const { app, tracker } = shop;
    await page.run("Webhooks of a payment gateway", { app, tracker, users: users(user), process });
    const sign = (body: string) => createHmac("sha256", "whsec").update(body).digest("hex");
    const deliver = (body: string, signature = sign(body)) =>
      request(app)
        .post("/webhooks/gateway")
        .set({ "Content-Type": "application/json", "X-Signature": signature })
        .send(body);
    return { ...shop, deliver };
  }

  it("is attributed through the snapshot that the sign-up kept", async () => {
    const { app, tracker } = await startShop({ before: [json] });
    const kept: Omit<User, "id">[] = [];
    const keeping = {
      create: async (user: Omit<User, "id">) => {
        kept.push(user);
        return { ...user, id: 7 };
      },
    };
    await page.run("Payments months later", { app, tracker, users: keeping });
    await referred(app).post("/signup").send(ada).expect(201);
    expect(kept).toMatchObject([{ affiliate: { clickId: "c1", sessionId: "s1" } }]);

    const { sandbox, deliver } = await gateway({ ...ada, ...kept[0] });
    await deliver(succeeded("evt_1")).expect(204);
    await sandbox.ledger.waitFor({ kind: "payment", sessionId: "s1", leadValue: 19.9 });
  });

  it("is one payment however often the gateway tells of it", async () => {
    const { sandbox, tracker, deliver } = await gateway({ ...ada, affiliate: { sessionId: "s1" } });
    await deliver(succeeded("evt_1")).expect(204);
    await deliver(succeeded("evt_1")).expect(204);
    await deliver(succeeded("evt_2")).expect(204);
    await tracker.flush();
    expect(sandbox.ledger.payments()).toHaveLength(1);
    expect(tracker.stats().duplicates).toBe(2);
  });

  it("is not reported where the signature is wrong, nothing was paid, or no affiliate referred the customer", async () => {
    const { sandbox, tracker, deliver } = await gateway({ ...ada, affiliate: {} });
    await deliver(succeeded("evt_1"), "forged").expect(400);
    await deliver(JSON.stringify({ type: "charge.failed", charge })).expect(204);
    await deliver(succeeded("evt_1")).expect(204);
    await tracker.flush();
    expect(sandbox.ledger.requests()).toEqual([]);
  });

  it("is not reported of a visitor who declined, and not once the consent is withdrawn", async () => {
    const shop = await startShop({ before: [json], consent: () => false });
    let kept: User = ada;
    const keeping = {
      create: async (user: Omit<User, "id">) => {
        kept = { ...user, id: 7 };
        return kept;
      },
    };
    await page.run("Payments months later", { ...shop, users: keeping });
    await referred(shop.app).post("/signup").send(ada).expect(201);
    expect(kept.affiliate).toEqual({});
    for (const affiliate of [kept.affiliate, null]) {
      const { sandbox, tracker, deliver } = await gateway({ ...ada, affiliate });
      await deliver(succeeded("evt_1")).expect(204);
      await tracker.flush();
      expect(tracker.stats().skipped["no-attribution"]).toBe(1);
      expect(sandbox.ledger.requests()).toEqual([]);
    }
    expect(shop.sandbox.ledger.requests()).toEqual([]);
  });

  it("has the gateway come again where the outbox did not take it", async () => {
    const { tracker, deliver } = await gateway({ ...ada, affiliate: { sessionId: "s1" } });
    await tracker.close();
    await deliver(succeeded("evt_1")).expect(500);
  });

  it("is not asked for again where it will never be one", async () => {
    const { tracker, deliver } = await gateway({ ...ada, affiliate: { sessionId: "s1" } });
    await deliver(JSON.stringify({ type: "charge.succeeded", charge: { ...charge, amount: -1 } })).expect(
      204,
    );
    expect(tracker.stats().dropped.invalid).toBe(1);
  });

  it("would be skipped by the wrapper, for the request is the gateway's", async () => {
    const { app, tracker } = await startShop();
    const payment = { paymentId: "ch_1", customerEmail: ada.email, leadValue: 19.9 };
    app.post(
      "/webhooks/gateway",
      tracker.onPayment((_req, res) => {
        res.end();
        return payment;
      }),
    );
    await request(app).post("/webhooks/gateway");
    expect(tracker.stats().skipped["no-attribution"]).toBe(1);
  });
});

it("reports no payment that the service tracks by itself", async () => {
  const { app, tracker, sandbox } = await startShop({ before: [json] });
  const orders = {
    complete: async (gateway: string): Promise<Order> => ({ ...ada, id: gateway, total: 19.9, gateway }),
  };
  await page.run("What the service knows already", { app, tracker, orders });
  const visitor = referred(app);
  await visitor.post("/checkout/complete").send({ id: "stripe" }).expect(200);
  await visitor.post("/checkout/complete").send({ id: "another" }).expect(200);
  await tracker.flush();
  expect(sandbox.ledger.payments()).toHaveLength(1);
  expect(tracker.stats()).toMatchObject({ delivered: 1 });
});

it("has run every block of the page", () => {
  expect(page.notRun).toEqual([]);
});
