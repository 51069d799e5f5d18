import type { NextFunction, RequestHandler } from "express";
import { describe, expect, it } from "vitest";
import { order, startShop } from "../helpers/conversions.js";
import { eachExpress } from "../helpers/express.js";

const reasons = [undefined, null, "", 0, Number.NaN, false, new Error("out of stock")];
const ways: [string, (reason: unknown) => () => unknown][] = [
  ["rejects with", (reason) => () => Promise.reject(reason)],
  ["throws", (reason) => raising(reason)],
];

const raising = (reason: unknown) => (): never => {
  throw reason;
};

describe.each(eachExpress)("a guard that fails, on $name", ({ express }) => {
  describe.each(ways)("and %s", (_, fail) => {
    it.each(reasons)("%o, keeps the visitor out, and Express gets an error once", async (reason) => {
      const secret: RequestHandler = (_req, res) => void res.send("secret");
      const shop = await startShop(express, (app, tracker) => {
        const guard = fail(reason) as () => undefined;
        const pick = () => ({ email: "ada@shop.example" });
        app.post("/returned", tracker.onPayment(guard), secret);
        app.post("/picked", tracker.onRegistration(guard, pick), secret);
        app.use(secret);
      });
      for (const path of ["/returned", "/picked"]) {
        expect(await shop.post(path)).toMatchObject({ status: 500, text: '{"failed":true}' });
      }
      expect(shop.heard).toEqual(
        ["onPayment", "onRegistration"].map((name) =>
          reason instanceof Error
            ? reason
            : expect.objectContaining({
                code: "ERR_AFFILIATE_HANDLER",
                cause: reason,
                message: expect.stringContaining(`${name}: its handler failed with `),
              }),
        ),
      );
      expect(await shop.reported()).toEqual([]);
    });
  });

  const pass: [string, string, (next: NextFunction) => unknown][] = [
    ["calls `next`", "route", (next) => next("route")],
    ["rejects", "route", () => Promise.reject("route")],
    ["throws", "route", raising("route")],
    ["rejects", "router", () => Promise.reject("router")],
  ];
  it.each(pass)("goes on as Express does if its handler %s with %o", async (_, reason, go) => {
    const shop = await startShop(express, (app, tracker) => {
      const pick = () => order;
      for (const [path, guard] of Object.entries({
        "/returned": tracker.onPayment(async (_req, _res, next) => void (await go(next))),
        "/picked": tracker.onPayment(async (_req, _res, next) => void (await go(next)), pick),
      })) {
        const router = express.Router();
        router.post(path, guard, (_req, res) => void res.send("this route"));
        router.post(path, (_req, res) => void res.send("the next route"));
        app.use(router);
        app.post(path, (_req, res) => void res.send("behind the router"));
      }
    });
    const text = reason === "route" ? "the next route" : "behind the router";
    for (const path of ["/returned", "/picked"]) expect(await shop.post(path)).toMatchObject({ text });
    expect(shop.heard).toEqual([]);
    await expect.poll(shop.reported).toEqual(["lead/payment"]);
    expect(shop.tracker.stats().unreported.payment).toBe(1);
  });
});
