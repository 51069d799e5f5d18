import type { Express, Request, Response } from "express";
import request from "supertest";
import { describe, expect, it } from "vitest";
import { COOKIES, order } from "../helpers/conversions.js";
import { eachExpress } from "../helpers/express.js";
import { linesLogger, startTracker, trackerWithService } from "../helpers/tracker.js";

const TOLD = "and no tracker had seen the request";

async function startTwo() {
  const logger = linesLogger();
  const { url: baseUrl, tracker, posted } = await trackerWithService({ logger });
  const reported = () => posted.map(({ path }) => path.split("/").at(-1));
  return { tracker, other: startTracker({ baseUrl, logger }), lines: logger.lines, reported };
}

const post = (app: Express, path: string) => request(app).post(path).set("Cookie", COOKIES);
const paying = (req: Request, res: Response) => {
  void req.affiliate?.trackPayment(order);
  res.end();
};

describe.each(eachExpress)("a route above the tracker, on $name,", ({ express }) => {
  it("that reads `req.affiliate` is told once, from the tracker's first request on", async () => {
    const { tracker, lines, reported } = await startTwo();
    const app = express();
    const shop = express.Router();
    shop.post("/pay", paying);
    shop.post("/sign-up", paying);
    app.use("/shop", shop);
    app.use(tracker);
    await post(app, "/shop/pay").expect(200);
    expect(lines).toEqual([]);
    await post(app, "/favicon.ico").expect(404);
    for (const path of ["/shop/pay", "/shop/pay", "/shop/sign-up"]) await post(app, path).expect(200);
    expect(lines).toEqual([expect.stringContaining(`POST /shop/pay read \`req.affiliate\`, ${TOLD}`)]);
    await tracker.flush();
    expect(reported()).toEqual([]);
  });

  it("reports if it is wrapped, by whichever tracker, and nothing is logged", async () => {
    const { tracker, other, lines, reported } = await startTwo();
    const app = express();
    const wrapped = (req: Request, res: Response) => {
      void req.affiliate?.trackRegistration({ email: "ada@shop.example" });
      res.end();
      return order;
    };
    app.post("/wrapped", tracker.onPayment(wrapped));
    app.post("/by-the-other", other.onPayment(wrapped));
    app.use(tracker, other);
    await post(app, "/nothing").expect(404);
    await post(app, "/wrapped").expect(200);
    await post(app, "/by-the-other").expect(200);
    await Promise.all([tracker.flush(), other.flush()]);
    expect(reported().sort()).toEqual(["payment", "payment", "registration", "registration"]);
    expect(lines).toEqual([]);
  });

  it("is logged in an app within the app, and another app has nothing to do with it", async () => {
    const { tracker, lines } = await startTwo();
    const [app, within, apart] = [express(), express(), express()];
    within.post("/pay", paying);
    app.use("/shop", within);
    app.use(tracker);
    apart.post("/pay", paying);
    await post(app, "/nothing").expect(404);
    await post(apart, "/pay").expect(200);
    expect(lines).toEqual([]);
    await post(app, "/shop/pay").expect(200);
    expect(lines).toEqual([expect.stringContaining("POST /shop/pay read")]);
  });

  it.each([[[]], [["outer"]]])(
    "and behind an inner app with a tracker has what that tracker has set: %j",
    async (where) => {
      const { tracker, other, lines } = await startTwo();
      const [app, inner] = [express(), express()];
      inner.use(tracker);
      if (where.includes("outer")) app.use("/other", other);
      app.use(inner);
      app.post("/after", (req, res) => void res.json(req.affiliate?.snapshot() ?? null));
      await post(app, "/other").expect(404);
      for (let visit = 0; visit < 2; visit++) {
        expect((await post(app, "/after")).body).toEqual({ clickId: "c1", sessionId: "s1" });
      }
      expect(lines).toEqual([]);
    },
  );

  it("has what the host itself set under this name, unless it is wrapped", async () => {
    const { tracker, lines, reported } = await startTwo();
    const [app, inner] = [express(), express()];
    const seen: unknown[] = [];
    const own = { value: "of the inner app", writable: true, configurable: true };
    Object.defineProperty(inner.request, "affiliate", own);
    inner.post("/pay", tracker.onPayment(paying));
    app.use("/inner", inner);
    app.post("/own", (req, res) => {
      req.affiliate = "the host's own" as never;
      seen.push(req.affiliate, Object.keys(req).includes("affiliate"));
      res.end();
    });
    app.use(tracker);
    for (const path of ["/own", "/nothing", "/own", "/inner/pay"]) await post(app, path);
    expect(seen).toEqual(["the host's own", true, "the host's own", true]);
    expect(lines).toEqual([]);
    await tracker.flush();
    expect(reported()).toEqual(["payment"]);
  });
});
