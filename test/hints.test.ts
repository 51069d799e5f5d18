import express, { type RequestHandler } from "express";
import { type Affiliate, affiliate, type Logger } from "express-affiliate";
import request from "supertest";
import { afterEach, describe, expect, it, vi } from "vitest";
import { browser } from "./helpers/docs/shop.js";
import { startTracker } from "./helpers/tracker.js";

const order = { paymentId: "o1", customerEmail: "ada@shop.example", leadValue: 19.9 };
const responds: RequestHandler = (_req, res) => void res.end();

function shop(mount: (tracker: Affiliate) => RequestHandler) {
  const infos: string[] = [];
  const logger: Logger = { info: (line) => infos.push(line), warn() {}, error() {} };
  const tracker = startTracker({ baseUrl: "http://127.0.0.1:1", logger });
  const app = express().use(tracker);
  app.all("/", mount(tracker), responds);
  return { app, infos };
}

describe("outside production", () => {
  afterEach(() => void vi.unstubAllEnvs());

  it.each<[string, (tracker: Affiliate) => RequestHandler, string]>([
    [
      "a wrapped handler answers with an error",
      (tracker) =>
        tracker.onPayment((_req, res) => {
          res.status(402).end();
          return order;
        }),
      "a wrapped handler reports no payment: its response's status is 402",
    ],
    [
      "the visitor has no attribution",
      (tracker) =>
        tracker.onPayment((_req, res) => {
          res.end();
          return order;
        }),
      "a payment is not reported: neither a click id nor a session id is known of its visitor.",
    ],
  ])("a line says once that %s", async (_, mount, line) => {
    const { app, infos } = shop(mount);
    for (let visits = 0; visits < 2; visits++) await request(app).post("/");
    await expect.poll(() => infos).toEqual([expect.stringContaining(`express-affiliate: ${line}`)]);
  });

  it.each([
    ["curl", "curl/8.5.0", "a click is not reported: its User-Agent is taken for a bot's"],
    [
      "headless Chromium",
      "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessChrome/142.0.0.0 Safari/537.36",
      "a click is not reported: its User-Agent is taken for a bot's",
    ],
    ["a fetch", "Mozilla/5.0 Firefox/146.0", "a click is not reported: its request is not one for a page"],
  ])("a line says why %s makes no click", async (_, agent, line) => {
    const { app, infos } = shop((tracker) => tracker.onClick());
    for (let visits = 0; visits < 2; visits++)
      await request(app).get("/?ref=ALICE").set({ "User-Agent": agent, Accept: "*/*" });
    expect(infos).toEqual([expect.stringContaining(line)]);
    await request(app).get("/").set("User-Agent", agent);
    expect(infos).toHaveLength(1);
  });

  it("the console shows them, and in production nothing does", async () => {
    const said = vi.spyOn(console, "info").mockReturnValue();
    const tracker = affiliate({ baseUrl: "http://127.0.0.1:1", clientId: 1 });
    const app = express().use(tracker).get("/", tracker.onClick(), responds);
    vi.stubEnv("NODE_ENV", "production");
    await request(app).get("/?ref=ALICE").set("User-Agent", "curl/8.5.0");
    expect(said).not.toHaveBeenCalled();
    vi.stubEnv("NODE_ENV", "development");
    await request(app).get("/?ref=ALICE").set("User-Agent", "curl/8.5.0");
    expect(said).toHaveBeenCalledOnce();
    await tracker.close();
    said.mockRestore();
  });

  it("nothing is said of a click that counts", async () => {
    const { app, infos } = shop((tracker) => tracker.onClick());
    await browser(app).get("/?ref=ALICE");
    expect(infos).toEqual([]);
  });
});
