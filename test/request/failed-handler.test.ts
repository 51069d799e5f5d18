import type { RequestHandler } from "express";
import { describe, expect, it } from "vitest";
import { order, startShop } from "../helpers/conversions.js";
import { eachExpress } from "../helpers/express.js";

const reasons = [undefined, null, "", 0, Number.NaN, false, "route", "router"];
const ways: [string, (reason: unknown) => () => unknown][] = [
  ["rejects with", (reason) => () => Promise.reject(reason)],
  [
    "throws",
    (reason) => () => {
      throw reason;
    },
  ],
];

describe.each(eachExpress)("a guard that fails with no error, on $name", ({ express }) => {
  describe.each(ways)("and %s", (_, fail) => {
    it.each(reasons)("%o, keeps the visitor out", async (reason) => {
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
          expect.objectContaining({
            code: "ERR_AFFILIATE_HANDLER",
            cause: reason,
            message: expect.stringContaining(`${name}: its handler failed with `),
          }),
        ),
      );
      expect(await shop.reported()).toEqual([]);
    });
  });

  it("hands on what `next` is called with", async () => {
    const shop = await startShop(express, (app, tracker) => {
      app.post(
        "/route",
        tracker.onPayment((_req, _res, next) => {
          next("route");
          return order;
        }),
        (_req, res) => void res.send("this route"),
      );
      app.post("/route", (_req, res) => void res.send("the next route"));
    });
    expect(await shop.post("/route")).toMatchObject({ text: "the next route" });
    expect(await shop.reported()).toEqual(["lead/payment"]);
  });
});
