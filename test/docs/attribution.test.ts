import { createHash } from "node:crypto";
import express, { type Express } from "express";
import type { Attribution } from "express-affiliate";
import session from "express-session";
import request from "supertest";
import { describe, expect, it } from "vitest";
import { pageToRun } from "../helpers/docs/run.js";
import { browser, referred, startShop } from "../helpers/docs/shop.js";

const page = pageToRun("docs/attribution.md");

const ada = { id: 7, email: "ada@shop.example", name: "Ada" };
const expressSession = session({ secret: "s", resave: false, saveUninitialized: false });
const json = express.json();

describe("clicks", () => {
  it("are counted by the server where it is asked to", async () => {
    const { app, tracker, sandbox } = await startShop();
    await page.run("Clicks: the snippet or the server", { app, tracker });
    app.get("/", (_req, res) => void res.send("Welcome"));
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

  it("are the visitor's first alone where `attribution` says so", async () => {
    const { app, tracker, sandbox } = await startShop();
    app.use(tracker.onClick({ attribution: "first" }));
    app.get("/", (_req, res) => void res.send("Welcome"));
    const visitor = browser(app);
    await visitor.get("/?ref=ALICE");
    await visitor.get("/?ref=BOB");
    await tracker.flush();
    expect(sandbox.ledger.clicks()).toMatchObject([{ affiliateReference: "ALICE" }]);
  });

  it("are found under another parameter where one is named", async () => {
    const { app, tracker, sandbox } = await startShop();
    app.get("/", tracker.onClick({ param: "via" }), (_req, res) => void res.send("Welcome"));
    await browser(app).get("/?ref=elsewhere&via=ALICE");
    await tracker.flush();
    expect(sandbox.ledger.clicks()).toMatchObject([{ affiliateReference: "ALICE" }]);
  });
});

describe("cookies of scripts and of servers", () => {
  it("are the snippet's, set again by the server", async () => {
    const { app, tracker } = await startShop();
    await page.run("Cookies of scripts and of servers", { app, tracker });
    app.get("/", (_req, res) => void res.send("Welcome"));
    const { headers } = await browser(app).get("/").set("Cookie", "svc_click_id=of-the-snippet");
    expect(headers["set-cookie"]).toEqual([
      expect.stringMatching(/^svc_click_id=of-the-snippet; Max-Age=2592000; Domain=shop\.example; /),
      expect.stringMatching(/^svc_click_id_kept=.*HttpOnly/),
    ]);
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
    const { app } = await startShop({ session: (req) => req.get("x-visitor-id") });
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
    app.post(
      "/signup",
      tracker.onRegistration(async (req, res) => {
        await new Promise((resolve) => req.session.regenerate(resolve));
        req.session.userId = ada.id;
        res.redirect(303, "/");
        return { email: ada.email, customerId: ada.id };
      }),
    );
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
    app.get(
      "/auth/callback",
      tracker.onRegistration(async (req, res) => {
        const { user, isNew } = await signIn(req.query.code);
        res.redirect("/");
        return isNew ? { email: user.email, customerId: user.id } : undefined;
      }),
    );
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
    await page.run("OAuth sign-ups", { app, tracker, signIn, pending });
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

it("does not take a gateway's webhook for the visitor's request: a wrapper skips it", async () => {
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

it("has run every block of the page", () => {
  expect(page.notRun).toEqual([]);
});
