import { createServer } from "node:http";
import express, { type Request, type RequestHandler, type Response } from "express";
import type { Affiliate, Registration, RequestAffiliate } from "express-affiliate";
import request from "supertest";
import { describe, expect, expectTypeOf, it } from "vitest";
import { ada, COOKIES, order, returning, startShop, throwing } from "../helpers/conversions.js";
import { eachExpress } from "../helpers/express.js";
import { startTracker, trackerWithService } from "../helpers/tracker.js";

/** What is thrown at the start. */
const refusal = (says: string) =>
  expect.objectContaining({ code: "ERR_AFFILIATE_OPTIONS", message: expect.stringContaining(says) });

describe.each(eachExpress)("conversions on $name", ({ express }) => {
  const shop = (mount: (tracker: Affiliate) => RequestHandler) =>
    startShop(express, (app, tracker) => void app.post("/", mount(tracker)));

  it("reports what the handler's promise resolves with, and leaves the response alone", async () => {
    const { post, reported, posted } = await shop((tracker) =>
      tracker.onRegistration(async (_req, res) => {
        res.status(201).json({ id: 7 });
        return ada;
      }),
    );
    expect(await post()).toEqual({ status: 201, text: '{"id":7}' });
    expect(await reported()).toEqual(["registration"]);
    expect(posted[0]?.body).toEqual({ ...ada, clickId: "c1", customerId: "7" });
  });

  it("takes a returned response or `null` for nothing, so that a handler may end early", async () => {
    const { post, reported, tracker } = await shop((tracker) =>
      tracker.onPayment(async (req, res) => {
        if (req.query.id === undefined) return res.status(400).json({ error: "no id" });
        if (req.query.id === "free") return res.end();
        res.json({});
        if (req.query.id === "none") return null;
        return order;
      }),
    );
    expect(await post()).toMatchObject({ status: 400 });
    for (const id of ["free", "none"]) expect(await post(`/?id=${id}`)).toMatchObject({ status: 200 });
    expect(await reported()).toEqual([]);
    expect(Object.values(tracker.stats().dropped).every((number) => number === 0)).toBe(true);
    expect(await post("/?id=o1")).toMatchObject({ status: 200 });
    expect(await reported()).toHaveLength(1);
  });

  describe("with `pick`", () => {
    it("asks what happened once a response below 400 has gone out", async () => {
      const asked: unknown[] = [];
      const answers: RequestHandler = (req, res) => {
        res.once("close", () => asked.push(`closed with ${res.statusCode}`));
        res.status(Number(req.query.status)).write('{"ok":');
        setImmediate(() => res.end("true}"));
      };
      const { post, reported } = await shop((tracker) =>
        tracker.onPayment(answers, async (_req, res) => {
          asked.push(res.writableEnded);
          return order;
        }),
      );
      expect(await post("/?status=402")).toMatchObject({ status: 402 });
      await expect.poll(() => asked).toEqual(["closed with 402"]);
      expect(await post("/?status=201")).toMatchObject({ status: 201, text: '{"ok":true}' });
      await expect.poll(reported).toHaveLength(1);
      expect(asked.filter((what) => what !== "closed with 201")).toEqual(["closed with 402", true]);
    });

    it("asks, too, if a middleware above had answered before the handler began", async () => {
      const { post, reported } = await startShop(express, (app, tracker) => {
        app.use((_req, res, next) => void res.once("close", next).json({}));
        app.post(
          "/",
          tracker.onPayment(
            () => {},
            () => order,
          ),
        );
      });
      expect(await post()).toMatchObject({ status: 200 });
      await expect.poll(reported).toEqual(["lead/payment"]);
    });
  });

  it("runs as it would unwrapped if a unit test calls it with a response made by hand, and says what is missing", async () => {
    const { tracker, lines } = await trackerWithService();
    const answer = returning(order);
    const req = { body: {} } as Request;
    const sent: unknown[] = [];
    const res = { status: () => res, end: () => sent.push("end") } as unknown as Response;
    const fails = throwing("out of stock");
    const call = (wrapped: RequestHandler) => wrapped(req, res, () => sent.push("next")) as unknown;
    expect(await call(tracker.onPayment(answer))).toBe(order);
    expect(await call(tracker.onPayment(answer, () => order))).toBe(order);
    expect(() => call(tracker.onPayment(fails))).toThrow("out of stock");
    expect(sent).toEqual(["end", "end"]);
    expect(req.affiliate?.snapshot()).toEqual({});
    expect(lines).toEqual([
      "express-affiliate: `tracker.onPayment` got a response without `once` or `writeHead`, as a unit test makes one by hand: its handler " +
        "ran, and nothing is reported. To see a report, send a request to the app",
    ]);
  });

  it.each([undefined, () => order])(
    "can be awaited until its handler ends, as unit tests and Next.js do, and then gives them its error, with `pick` %s",
    async (pick) => {
      const { onPayment } = startTracker();
      const ended: string[] = [];
      const awaitable = (handler: (...args: never[]) => unknown) =>
        onPayment(handler as never, pick as never) as unknown as (...args: unknown[]) => Promise<void>;
      const late = awaitable(async () => {
        await new Promise(setImmediate);
        ended.push("handler");
        throw new Error("out of stock");
      });
      const passes = awaitable((_req, _res, next: (error: Error) => void) => next(new Error("sold")));
      const shop = createServer(async (req, res) => {
        await late(req, res, ({ message }: Error) => ended.push(`next: ${message}`));
        ended.push("awaited");
        for (const wrapped of [late, passes])
          await wrapped(req, res).catch(({ message }: Error) => ended.push(`caught: ${message}`));
        res.end();
      });
      await request(shop).get("/");
      const first = ["handler", "next: out of stock", "awaited"];
      expect(ended).toEqual([...first, "handler", "caught: out of stock", "caught: sold"]);
    },
  );

  it("reports through the tracker that wraps the handler, if there are two", async () => {
    const first = await trackerWithService();
    const second = await trackerWithService({ cookieName: "other" });
    const [one, two] = [first.tracker, second.tracker];
    const app = express();
    app.use(one, two);
    const payment = (tracker: Affiliate) =>
      tracker.onPayment(async (req, res) => {
        res.json(req.affiliate.clickId);
        return order;
      });
    app.post("/one", payment(one));
    app.post("/two", payment(two));
    const cookies = `${COOKIES}; other=c2`;
    expect((await request(app).post("/one").set("Cookie", cookies)).body).toBe("c1");
    expect((await request(app).post("/two").set("Cookie", cookies)).body).toBe("c2");
    await Promise.all([one.flush(), two.flush()]);
    expect([first.posted.length, second.posted.length]).toEqual([1, 1]);
  });

  it("refuses a handler that is wrapped already, and says what to write", async () => {
    const tracker = startTracker();
    const wrapped = tracker.onRegistration(() => ({ email: "ada@shop.example" }));
    const message =
      "onPayment: its handler is wrapped by `onRegistration`, and hands on nothing that it returns. Wrap the handler itself, " +
      "in `onPayment` alone, and call `req.affiliate.trackRegistration(…)` in it";
    expect(() => tracker.onPayment(wrapped as never)).toThrow(refusal(message));
    const other = startTracker();
    const says = "call `req.affiliate.trackPayment(…)` in it";
    expect(() => other.onRegistration(tracker.onPayment(() => order) as never)).toThrow(refusal(says));
  });

  it("refuses at the start what is no handler and no `pick`, as Express does", async () => {
    const { onPayment, onRegistration } = startTracker();
    const handler = "its handler must be a function, got";
    expect(() => onPayment(undefined as never)).toThrow(refusal(`onPayment: ${handler} undefined`));
    expect(() => onRegistration([() => ada] as never)).toThrow(
      refusal(`onRegistration: ${handler} an array`),
    );
    const pick = "onPayment: its `pick` must be a function, got an object";
    expect(() => onPayment(() => {}, { ...order } as never)).toThrow(refusal(pick));
  });

  it("reports both if a wrapped handler is wrapped with `pick`", async () => {
    const { post, posted, tracker } = await shop((tracker) =>
      tracker.onPayment(tracker.onRegistration(returning(ada)), () => order),
    );
    await post();
    await expect.poll(() => tracker.stats().delivered).toBe(2);
    const paths = posted.map(({ path }) => path.replace(/.*tracking/, ""));
    expect(paths.sort()).toEqual(["/lead/payment", "/registration"]);
  });
});

it("a wrapped handler has the types that Express makes of the route", () => {
  const tracker = {} as Affiliate;
  const typed = () => {
    const app = express();
    app.post("/users/:id", (req, res, next) => {
      tracker.onRegistration<{ id: string }, { ok: boolean }, { email: string }>((req, res) => {
        expectTypeOf(req.params).toEqualTypeOf<{ id: string }>();
        expectTypeOf(req.body).toEqualTypeOf<{ email: string }>();
        expectTypeOf(req.affiliate.clickId).toEqualTypeOf<string | undefined>();
        res.json({ ok: true });
        return { email: req.body.email };
      })(req, res, next);
    });
    app.post("/typed", (req: Request<object, unknown, { a: 1 }>, res: Response) => {
      expectTypeOf(req.affiliate).toEqualTypeOf<RequestAffiliate | undefined>();
      res.json(req.body.a);
    });
    // @ts-expect-error: a registration has an e-mail address.
    tracker.onRegistration(async () => ({ customerId: 1 }));
    // @ts-expect-error: a payment has an amount.
    tracker.onPayment(() => ({ paymentId: 1, customerEmail: "a@b.example", leadValue: null }));
    // @ts-expect-error: the service knows no currency.
    tracker.onPayment(() => ({ paymentId: 1, customerEmail: "a@b.example", leadValue: 1, currency: "EUR" }));
    // @ts-expect-error: the amount is called `leadValue`.
    tracker.onPayment(async () => ({ paymentId: 1, customerEmail: "a@b.example", leadValue: 1, amount: 9 }));
    // @ts-expect-error: a bigint is in minor units.
    tracker.onPayment(() => ({ paymentId: 1, customerEmail: "a@b.example", leadValue: 1990n }));
    // @ts-expect-error: there is no such notice.
    tracker.on("deliverd", () => {});
    expectTypeOf<Registration["customerId"]>().toEqualTypeOf<
      string | number | bigint | object | null | undefined
    >();
  };
  expect(typed).toBeTypeOf("function");
});
