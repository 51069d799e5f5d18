import express from "express";
import type { Attribution } from "express-affiliate";
import { expect, it } from "vitest";
import { browser, pageToRun, referred, startShop } from "../helpers/docs/run.js";

const page = pageToRun("docs/recipes.md");
const json = express.json();

/** A shop to which one visitor has come by a link of ALICE. */
async function shopWithClick() {
  const shop = await startShop({ before: [json] });
  await shop.tracker.trackClick({ affiliateReference: "ALICE", clickId: "c1", sessionId: "s1" });
  return shop;
}

it("a code typed at checkout credits the code's affiliate; without one, the link's", async () => {
  const { app, tracker, sandbox } = await shopWithClick();
  const complete = async (order: object) => ({ email: "ada@shop.example", total: 19.9, ...order });
  await page.run("A coupon, or a code typed at checkout", { app, tracker, orders: { complete } });
  await referred(app).post("/orders").send({ id: "o1", affiliateCode: "BOB" }).expect(201);
  await referred(app).post("/orders").send({ id: "o2" }).expect(201);
  await tracker.flush();
  const credited = sandbox.ledger.payments().map(({ affiliateReference }) => affiliateReference);
  expect(credited.sort()).toEqual(["ALICE", "BOB"]);
});

it("a sign-up that is confirmed in another browser is the affiliate's, once", async () => {
  const { app, tracker, sandbox } = await shopWithClick();
  const pending: { email: string; affiliate: Attribution }[] = [];
  const pendingUsers = {
    add: async (user: (typeof pending)[number]) => void pending.push(user),
    confirm: async () => pending.splice(0).map((user) => ({ id: 7, ...user }))[0],
  };
  await page.run("A sign-up that is confirmed by e-mail", { app, tracker, pendingUsers });
  await referred(app).post("/signup").send({ email: "ada@shop.example" }).expect(202);
  for (let times = 0; times < 2; times++) await browser(app).get("/confirm/token").expect(302);
  await tracker.flush();
  expect(sandbox.ledger.registrations()).toMatchObject([{ affiliateReference: "ALICE", customerId: "7" }]);
});

it("the banner has the affiliate's name, or none if nobody invited, and while the service is down", async () => {
  const { app, tracker, sandbox } = await shopWithClick();
  await page.run('"Ada invited you"', { app, tracker, names: new Map([["ALICE", "Alice"]]) });
  await sandbox.ledger.waitFor({ kind: "click" });
  const nameOf = ({ body }: { body: { name: string | null } }) => body.name;
  expect(nameOf(await referred(app).get("/invited-by"))).toBe("Alice");
  expect(nameOf(await browser(app).get("/invited-by"))).toBeNull();
  expect(sandbox.ledger.requests({ method: "GET" })).toMatchObject([{ path: "/api/v1/tracking/status/s1" }]);
  await sandbox.fail("503");
  expect(nameOf(await referred(app).get("/invited-by"))).toBeNull();
});
