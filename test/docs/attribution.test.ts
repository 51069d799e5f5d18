import express from "express";
import type { Attribution } from "express-affiliate";
import request from "supertest";
import { expect, it } from "vitest";
import { browser, pageToRun, referred, startShop } from "../helpers/docs/run.js";

const page = pageToRun("docs/attribution.md");

const ada = { id: 7, email: "ada@shop.example", name: "Ada" };
const json = express.json();

it("clicks are counted by the server if it is asked to", async () => {
  const { app, tracker, sandbox } = await startShop();
  app.use(tracker.onClick());
  app.get("/", (_req, res) => void res.send("Welcome"));
  await browser(app).get("/?ref=ALICE").expect(200, "Welcome");
  await page.run("Clicks: the snippet or the server", { app });
  await browser(app).get("/ref/M%C3%9CLLER%26").expect(302).expect("Location", "/?ref=M%C3%9CLLER%26");
  await sandbox.ledger.waitFor({ kind: "click", affiliateReference: "ALICE" });
});

it("cookies of scripts and of servers are the snippet's, set again by the server", async () => {
  const { app, tracker } = await startShop();
  await page.run("Cookies of scripts and of servers", { app, tracker });
  app.get("/", (_req, res) => void res.send("Welcome"));
  const { headers } = await browser(app).get("/").set("Cookie", "svc_click_id=of-the-snippet");
  expect(headers["set-cookie"]).toEqual([
    expect.stringMatching(/^svc_click_id=of-the-snippet; Max-Age=2592000; Domain=shop\.example; /),
    expect.stringMatching(/^svc_click_id_kept=.*HttpOnly/),
  ]);
});

it("an OAuth sign-up is attributed if the provider's POST brings no cookie", async () => {
  const { app, tracker, sandbox } = await startShop({ before: [express.urlencoded()] });
  const signIn = async () => ({ user: ada, isNew: true });
  await page.run("OAuth sign-ups", { app, tracker, signIn, pending: new Map<string, Attribution>() });
  const { headers } = await referred(app).get("/auth/start").expect(302);
  const state = new URL(String(headers.location)).searchParams.get("state");
  await request(app).post("/auth/form-callback").type("form").send({ code: "x", state }).expect(303);
  await sandbox.ledger.waitFor({ kind: "registration", clickId: "c1", customerId: "7" });
});

it("a route that signs up and sells reports the sign-up before the payment, and no sign-up of a customer who is known", async () => {
  const { app, tracker, sandbox } = await startShop({ before: [json] });
  type Body = { id: string; isNew: boolean };
  const buy = async ({ id, isNew }: Body) => ({ user: ada, isNew, order: { id, total: 19.9 } });
  await page.run("Sign-up and purchase in one route", { app, tracker, buy });
  const visitor = referred(app);
  await visitor.post("/guest-checkout").send({ id: "o1", isNew: true }).expect(201);
  await visitor.post("/guest-checkout").send({ id: "o2", isNew: false }).expect(201);
  await tracker.flush();
  expect(sandbox.ledger.leads().map(({ kind }) => kind)).toEqual(["registration", "payment", "payment"]);
});
