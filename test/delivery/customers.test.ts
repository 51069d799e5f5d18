/** Customers of a host with express-session, where everybody who is logged in has a session id. */
import session from "express-session";
import request from "supertest";
import { expect, it } from "vitest";
import { startShop } from "../helpers/docs/shop.js";

it("a customer whom no affiliate referred is not reported, and one whom an affiliate referred is", async () => {
  const before = [session({ secret: "s", resave: false, saveUninitialized: true })];
  const { app, tracker, sandbox } = await startShop({ before, confirmReferral: "login-session" });
  app.get("/login", (_req, res) => void res.end());
  app.post(
    "/pay/:id",
    tracker.onPayment<{ id: string }>(async (req, res) => {
      res.end();
      return { paymentId: req.params.id, customerEmail: "ann@shop.example", leadValue: 5 };
    }),
  );
  const [stranger, referred] = [request.agent(app), request.agent(app)];
  await stranger.get("/login");
  await referred.get("/login");
  // The service knows the second one's session by a click: the page with the browser snippet gave
  // it the same id.
  app.get("/session", (req, res) => void res.json(tracker.attributionOf(req)));
  const { body } = await referred.get("/session");
  await tracker.client.click({ affiliateReference: "ALICE", clickId: "c", sessionId: body.sessionId });

  await stranger.post("/pay/1");
  await referred.post("/pay/2");

  await expect.poll(() => tracker.stats().queued).toBe(0);
  expect(tracker.stats()).toMatchObject({ delivered: 1, skipped: { "not-referred": 1 } });
  expect(sandbox.ledger.leads()).toMatchObject([{ kind: "payment", affiliateReference: "ALICE" }]);
  const asked = sandbox.ledger.requests().filter(({ method }) => method === "GET");
  expect(asked).toHaveLength(2);
  expect(JSON.stringify(asked)).not.toContain("ann@shop.example");
});
