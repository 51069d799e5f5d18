import { EventEmitter, once } from "node:events";
import type express from "express";
import { describe, expect, it } from "vitest";
import { pageToRun } from "../helpers/docs/run.js";
import { referred, startShop } from "../helpers/docs/shop.js";

// The quick start runs as a process of its own, in test/readme.test.ts; here is the rest.
const page = pageToRun("README.md");

describe("README.md", () => {
  it("reports beside a handler that cannot be changed", async () => {
    const { app, tracker, sandbox } = await startShop();
    const order = { id: "o1", email: "ada@shop.example", total: 19.9 };
    const completeCheckout: express.RequestHandler = (_req, res) => {
      res.locals.order = order;
      res.json(order);
    };
    await page.run("Wrappers", { app, tracker, completeCheckout });
    await referred(app).post("/checkout/complete").expect(200);
    await sandbox.ledger.waitFor({ kind: "payment", sessionId: "s1", leadValue: 19.9 });
  });

  it("reports months later with the snapshot", async () => {
    const { app, tracker, sandbox } = await startShop();
    const user = { id: 7, email: "ada@shop.example" };
    const users = { update: async (_id: number, row: object) => Object.assign(user, row) };
    app.post("/", async (req, res) => {
      const invoice = { id: "i1", total: 19.9 };
      await page.run("Wrappers", { tracker, req, users, user, invoice }, { nth: 1 });
      res.end();
    });
    await referred(app).post("/").expect(200);
    await sandbox.ledger.waitFor({ kind: "payment", sessionId: "s1", leadValue: 19.9 });
  });

  it("knows the path's parameters", async () => {
    const { app, tracker, sandbox } = await startShop();
    const orders = { pay: async (id: string) => ({ id, email: "ada@shop.example", total: 19.9 }) };
    await page.run("TypeScript and compatibility", { app, tracker, orders });
    await referred(app).post("/orders/o1/pay").expect(200, { id: "o1" });
    await sandbox.ledger.waitFor({ kind: "payment", sessionId: "s1", leadValue: 19.9 });
  });

  it("sends what waits before it shuts down", async () => {
    const { app, tracker, sandbox } = await startShop();
    const server = app.listen(0, "127.0.0.1");
    await once(server, "listening");
    const process = new EventEmitter();
    await page.run("Shutting down", { server, tracker, process });
    await tracker.trackPayment(
      { paymentId: 1, customerEmail: "ada@shop.example", leadValue: 19.9 },
      { sessionId: "s1" },
    );
    process.emit("SIGTERM");
    await sandbox.ledger.waitFor({ kind: "payment" });
    expect(await tracker.close()).toEqual({ left: 0, durable: false });
    expect(server.listening).toBe(false);
  });

  it("has no other block that is not run", () => {
    expect(page.notRun).toEqual([expect.stringContaining("(Quick start)")]);
  });
});
