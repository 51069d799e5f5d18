import { once } from "node:events";
import { createServer } from "node:http";
import type { Express } from "express";
import { type Affiliate, affiliate } from "express-affiliate";
import request from "supertest";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { order, returning, startShop } from "../helpers/conversions.js";
import { eachExpress } from "../helpers/express.js";
import { trackerWithService } from "../helpers/tracker.js";
import { withResolvers } from "../helpers/with-resolvers.js";

describe.each(eachExpress)("a wrapped handler that answers and reports nothing, on $name", ({ express }) => {
  it("is counted by kind, and named once for each route, in production too", async () => {
    onTestFinished(() => void vi.unstubAllEnvs());
    const { tracker, lines, post } = await startShop(express, (app, tracker) => {
      const nothing = tracker.onPayment(returning(undefined, 201));
      app.post("/checkout", nothing);
      app.post(/^\/pay/, nothing);
      const users = express.Router();
      users.post("/:id", tracker.onRegistration(returning(undefined)));
      app.use("/users", users);
    });
    vi.stubEnv("NODE_ENV", "production");
    for (const path of ["/checkout", "/checkout", "/pay/1", "/pay/2", "/users/1", "/users/2"])
      await post(path);
    await expect.poll(() => tracker.stats().unreported).toEqual({ payment: 4, registration: 2 });
    const line = (route: string, kind: string) =>
      `express-affiliate: ${route} and reported no ${kind}: its handler returned nothing. Return the ${kind} that happened. ` +
      "If none happened, all is well (said once for each route)";
    expect(lines).toEqual([
      line("POST /checkout answered 201", "payment"),
      line("POST /^\\/pay/ answered 201", "payment"),
      line("POST /users/:id answered 200", "registration"),
    ]);
  });

  it("is not counted for an error, nor if the visitor hung up before the answer", async () => {
    const began = withResolvers();
    const { tracker, lines, post, open } = await startShop(express, (app, tracker) => {
      app.post("/declined", tracker.onPayment(returning(undefined, 402)));
      const fails = () => Promise.reject(new Error("no stock"));
      app.post("/fails", tracker.onPayment(fails));
      app.post(
        "/slow",
        tracker.onPayment(async (_req, res) => {
          began.resolve();
          await once(res, "close");
        }),
      );
    });
    await post("/declined");
    await post("/fails");
    const socket = await open("/slow");
    await began.promise;
    socket.destroy();
    await once(socket, "close");
    await tracker.flush();
    expect(tracker.stats().unreported).toEqual({ payment: 0, registration: 0 });
    expect(lines).toEqual([]);
  });

  it("is not counted if what it returns is skipped", async () => {
    const mount = (app: Express, tracker: Affiliate) =>
      void app.post("/", tracker.onPayment(returning(order)));
    const { tracker, post } = await startShop(express, mount, { consent: () => false });
    await post();
    expect([tracker.stats().unreported.payment, tracker.stats().skipped.consent]).toEqual([0, 1]);
  });
});

it("a wrapped handler that reports nothing on a server of Node alone is named by its method", async () => {
  const { tracker, lines } = await trackerWithService();
  const wrapped = tracker.onPayment((_req, res) => void res.end());
  const server = createServer((req, res) => void wrapped(req as never, res as never, () => {}));
  await request(server).post("/checkout");
  await expect
    .poll(() => lines)
    .toEqual([expect.stringMatching(/^express-affiliate: POST answered 200 and/)]);
});

describe.each(eachExpress)("a mistake at mounting, on $name,", ({ express }) => {
  it.each(["onClick", "keepClickId", "onRegistration", "onPayment"] as const)(
    "lets visitors pass, and is told once: `tracker.%s` without a call",
    async (name) => {
      const { post, lines } = await startShop(express, (app, tracker) => {
        app.post("/", tracker[name] as never, (_req, res) => void res.send("Welcome"));
      });
      for (let visit = 0; visit < 2; visit++)
        expect(await post()).toMatchObject({ status: 200, text: "Welcome" });
      const written = `tracker.${name}(${name.startsWith("onC") || name === "keepClickId" ? "" : "handler"})`;
      expect(lines).toEqual([
        `express-affiliate: \`tracker.${name}\` was passed to Express without a call, so nothing is reported there: write \`${written}\``,
      ]);
    },
  );
});

it("`affiliate` without a call lets visitors pass, and is logged once in a process", async () => {
  const warn = vi.spyOn(console, "warn").mockReturnValue();
  for (const { express } of eachExpress) {
    const app = express();
    app.use(affiliate as never);
    app.get("/", (_req, res) => void res.send("Welcome"));
    for (let visit = 0; visit < 2; visit++) await request(app).get("/").expect(200, "Welcome");
  }
  expect(warn.mock.calls).toEqual([
    [
      expect.stringContaining(
        "`affiliate` was passed to Express without a call, so nothing is reported there: write",
      ),
    ],
  ]);
  warn.mockRestore();
});
