import { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { NextFunction, Request, Response } from "express";
import { describe, expect, it } from "vitest";
import { COOKIES, order, returning, startShop } from "../helpers/conversions.js";
import { eachExpress } from "../helpers/express.js";
import { withResolvers } from "../helpers/with-resolvers.js";

type Handler = (req: Request, res: Response, next: NextFunction) => unknown;

/** Answers in a later turn of the event loop, as the callback of a payment gateway does. */
const later = (answer: () => unknown) => void setImmediate(answer);

describe.each(eachExpress)("the head of the response on $name", ({ express }) => {
  const visit = async (handler: Handler, after: Handler = (_req, res) => res.status(404).end()) => {
    const shop = await startShop(express, (app, tracker) => {
      app.post(
        "/",
        tracker.onPayment(async (req, res, next) => {
          await handler(req, res, next);
          return order;
        }),
        (req, res, next) => void after(req, res, next),
      );
    });
    return { status: (await shop.post()).status, reported: await shop.reported() };
  };

  const paid = ["lead/payment"];
  // test/request/routes.property.test.ts tries the other ways, in every order, and visitors who hang up.
  it.each<[string, Handler, number, string[]]>([
    ["next('route')", (_req, _res, next) => later(() => next("route")), 404, []],
    ["redirect()", (_req, res) => later(() => res.redirect("/thanks")), 302, paid],
    ["flushHeaders()", (_req, res) => later(() => later(() => res.end()) ?? res.flushHeaders()), 200, paid],
  ])("decides if %s comes after the handler has resolved", async (_, handler, status, reported) => {
    expect(await visit(handler)).toEqual({ status, reported });
  });

  it("counts as a middleware that is mounted later changes it", async () => {
    const after: Handler = (_req, res) => {
      const { writeHead } = res;
      res.writeHead = (() => writeHead.call(res, 503)) as unknown as typeof writeHead;
      res.end();
    };
    expect(await visit((_req, _res, next) => next(), after)).toEqual({ status: 503, reported: [] });
  });

  it("settles the promise given to `waitUntil`, also for `pick`, for a visitor who is gone and for one who waits in line", async () => {
    const settled: Promise<void>[] = [];
    const arrived = withResolvers();
    const { open, reported, tracker } = await startShop(
      express,
      (app, tracker) => {
        app.post("/first", () => {}); // answers never
        app.use((_req, res, next) => {
          if (res.socket) res.once("close", next);
          else next();
        });
        app.post("/", (_req, _res, next) => {
          setImmediate(arrived.resolve);
          next();
        });
        const pick = () => order;
        app.post("/", tracker.onPayment(returning(undefined), pick));
      },
      { waitUntil: (promise) => void settled.push(promise) },
    );
    const inLine = await open("/first", "/");
    await arrived.promise;
    inLine.destroy();
    await expect.poll(() => settled.length).toBe(1);
    (await open("/")).destroy();
    await expect.poll(() => settled.length).toBe(2);
    await Promise.all(settled);
    // The one in line was answered. What is written to a visitor who is gone counts for nothing.
    expect(await reported()).toEqual(["lead/payment"]);
    expect(tracker.stats().duplicates).toBe(0);
  });

  it.each([
    ["returned", order, undefined, 1],
    ["picked", undefined, () => order, 1],
    ["nothing", undefined, undefined, 0],
  ] as const)(
    "may be a serverless adapter's, which emits no `close`: %s",
    async (_, happened, pick, payments) => {
      const settled: Promise<void>[] = [];
      const shop = await startShop(
        express,
        (app, tracker) => void app.post("/", tracker.onPayment(returning(happened), pick as never)),
        { waitUntil: (promise) => void settled.push(promise) },
      );
      const req = new IncomingMessage({ destroyed: false } as Socket);
      Object.assign(req, { method: "POST", url: "/", headers: { cookie: COOKIES } });
      const res = new ServerResponse(req);
      res.assignSocket({
        ...{ _writableState: {}, writable: true, on() {}, removeListener() {}, cork() {}, uncork() {} },
        write: (_data: unknown, _encoding: unknown, sent?: () => void) => sent?.(),
      } as unknown as Socket);
      shop.app(req as never, res as never);
      await Promise.all(settled);
      expect(settled).toHaveLength(1);
      expect(await shop.reported()).toHaveLength(payments);
      await expect.poll(() => shop.tracker.stats().unreported.payment).toBe(1 - payments);
    },
  );
});
