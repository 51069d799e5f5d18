import { once } from "node:events";
import type { NextFunction, Request, Response } from "express";
import { describe, expect, it } from "vitest";
import { order, startShop } from "../helpers/conversions.js";
import { eachExpress } from "../helpers/express.js";

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
    const { status } = await shop.post();
    return { status, reported: await shop.reported() };
  };

  it.each<[string, Handler, number]>([
    ["status().end()", (_req, res) => later(() => res.status(402).end()), 402],
    ["status().json()", (_req, res) => later(() => res.status(402).json({})), 402],
    ["writeHead(402)", (_req, res) => later(() => res.writeHead(402).end()), 402],
    ["next(error)", (_req, _res, next) => later(() => next(new Error("declined"))), 500],
    ["next()", (_req, _res, next) => next(), 404],
    ["next() later", (_req, _res, next) => later(next), 404],
    ["next('route')", (_req, _res, next) => later(() => next("route")), 404],
  ])("reports nothing if %s comes after the handler has resolved", async (_, handler, status) => {
    expect(await visit(handler)).toEqual({ status, reported: [] });
  });

  it.each<[string, Handler, number]>([
    ["end()", (_req, res) => later(() => res.end()), 200],
    ["redirect()", (_req, res) => later(() => res.redirect("/thanks")), 302],
    ["writeHead(201)", (_req, res) => later(() => res.writeHead(201).end()), 201],
    ["write()", (_req, res) => later(() => res.write("a") && later(() => res.end())), 200],
    ["flushHeaders()", (_req, res) => later(() => later(() => res.end()) ?? res.flushHeaders()), 200],
  ])("reports if %s comes after the handler has resolved", async (_, handler, status) => {
    expect(await visit(handler)).toEqual({ status, reported: ["lead/payment"] });
  });

  it.each([
    [409, []],
    [201, ["lead/payment"]],
  ])("counts if a later handler writes it: %i", async (status, reported) => {
    const after: Handler = (_req, res) => later(() => res.status(status).json({}));
    expect(await visit((_req, _res, next) => later(next), after)).toEqual({ status, reported });
  });

  it("counts as a middleware that is mounted later changes it", async () => {
    const after: Handler = (_req, res) => {
      const { writeHead } = res;
      res.writeHead = (() => writeHead.call(res, 503)) as unknown as typeof writeHead;
      res.end();
    };
    expect(await visit((_req, _res, next) => next(), after)).toEqual({ status: 503, reported: [] });
  });

  it("reports once if the handler answers twice", async () => {
    const handler: Handler = (_req, res) => {
      later(() => {
        res.status(201).end();
        res.end();
      });
    };
    expect(await visit(handler)).toEqual({ status: 201, reported: ["lead/payment"] });
  });

  describe("when the visitor hangs up before it", () => {
    async function hangUp(handler: Handler, { before = false } = {}) {
      let began = () => {};
      const hasBegun = new Promise<void>((resolve) => {
        began = resolve;
      });
      let ended = () => {};
      const hasEnded = new Promise<void>((resolve) => {
        ended = resolve;
      });
      const settled: Promise<void>[] = [];
      const shop = await startShop(
        express,
        (app, tracker) => {
          if (before)
            app.use((_req, res, next) => {
              res.once("close", next);
              began();
            });
          app.post(
            "/",
            tracker.onPayment(async (req, res, next) => {
              began();
              if (!res.closed) await once(res, "close");
              await handler(req, res, next);
              ended();
              return order;
            }),
          );
        },
        { waitUntil: (promise) => void settled.push(promise) },
      );
      const socket = await shop.open("/");
      await hasBegun;
      socket.destroy();
      await hasEnded;
      await Promise.all(settled);
      return shop.reported();
    }

    it("reports what happened", async () => {
      expect(await hangUp(() => {})).toEqual(["lead/payment"]);
      expect(await hangUp((_req, res) => res.json({}))).toEqual(["lead/payment"]);
    });

    it("reports what happened, also if it was before the handler began", async () => {
      expect(await hangUp(() => {}, { before: true })).toEqual(["lead/payment"]);
    });

    it("reports nothing if the status so far says so", async () => {
      expect(await hangUp((_req, res) => res.status(402).json({}))).toEqual([]);
    });

    it("reports nothing if the handler calls next(error)", async () => {
      expect(await hangUp((_req, _res, next) => next(new Error("declined")))).toEqual([]);
    });
  });

  it("reports if the visitor hangs up after the handler has resolved and before it", async () => {
    let hasResolved = () => {};
    const resolved = new Promise<void>((resolve) => {
      hasResolved = resolve;
    });
    const { open, tracker } = await startShop(express, (app, tracker) => {
      app.post(
        "/",
        tracker.onPayment(() => {
          setImmediate(hasResolved);
          return order;
        }),
      );
    });
    const socket = await open("/");
    await resolved;
    expect(tracker.stats()).toMatchObject({ queued: 0, delivered: 0 });
    socket.destroy();
    await expect.poll(() => tracker.stats().delivered).toBe(1);
  });

  it("settles the promise given to `waitUntil`, also for `pick`, for a visitor who is gone and for one who waits in line", async () => {
    const settled: Promise<void>[] = [];
    let arrived = () => {};
    const hasArrived = new Promise<void>((resolve) => {
      arrived = resolve;
    });
    const { open, reported, tracker } = await startShop(
      express,
      (app, tracker) => {
        app.post("/first", () => {}); // answers never
        app.use((_req, res, next) => {
          if (res.socket) res.once("close", next);
          else next();
        });
        app.post("/", (_req, _res, next) => {
          setImmediate(arrived);
          next();
        });
        app.post(
          "/",
          tracker.onPayment(
            (_req, res) => void res.end(),
            () => order,
          ),
        );
      },
      { waitUntil: (promise) => void settled.push(promise) },
    );
    const inLine = await open("/first", "/");
    await hasArrived;
    inLine.destroy();
    await expect.poll(() => settled.length).toBe(1);
    const gone = await open("/");
    gone.destroy();
    await expect.poll(() => settled.length).toBe(2);
    await Promise.all(settled);
    // The one in line was answered. What is written to a visitor who is gone counts for nothing.
    expect(await reported()).toEqual(["lead/payment"]);
    expect(tracker.stats().duplicates).toBe(0);
  });
});
