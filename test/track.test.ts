import express, { type RequestHandler } from "express";
import { type Affiliate, type AffiliateOptions, memoryOutbox } from "express-affiliate";
import { diskOutbox } from "express-affiliate/disk";
import request from "supertest";
import { afterEach, describe, expect, it, vi } from "vitest";
import { order } from "./helpers/conversions.js";
import { browser } from "./helpers/docs/shop.js";
import { pay } from "./helpers/pay.js";
import { scratchDirectory } from "./helpers/scratch.js";
import { linesLogger, startTracker } from "./helpers/tracker.js";

const responds: RequestHandler = (_req, res) => void res.end();

function trackerAndInfos() {
  const infos: string[] = [];
  const logger = { info: (line: string) => infos.push(line), warn() {}, error() {} };
  return { infos, tracker: startTracker({ baseUrl: "http://127.0.0.1:1", logger }) };
}

function shop(mount: (tracker: Affiliate) => RequestHandler) {
  const { infos, tracker } = trackerAndInfos();
  const app = express().use(tracker);
  app.all("/", mount(tracker), responds);
  return { app, infos };
}

const clicking = (tracker: Affiliate) => tracker.onClick();

describe("outside production", () => {
  afterEach(() => void vi.unstubAllEnvs());

  it("a line says once why nothing is reported", async () => {
    const { app, infos } = shop(clicking);
    for (let visits = 0; visits < 2; visits++)
      await request(app).get("/?ref=ALICE").set("User-Agent", "curl/8.5.0");
    expect(infos).toEqual([expect.stringContaining("its User-Agent is taken for a bot's")]);
  });

  it("the console shows them, and in production nothing does", async () => {
    const said = vi.spyOn(console, "info").mockReturnValue();
    const tracker = startTracker({ baseUrl: "http://127.0.0.1:1", logger: undefined });
    const app = express().use(tracker).get("/", tracker.onClick(), responds);
    for (const [environment, lines] of [
      ["production", 0],
      ["development", 1],
    ] as const) {
      vi.stubEnv("NODE_ENV", environment);
      await request(app).get("/?ref=ALICE").set("User-Agent", "curl/8.5.0");
      expect(said).toHaveBeenCalledTimes(lines);
    }
    said.mockRestore();
  });

  it("a line says once that a report is a duplicate", async () => {
    const { tracker, infos } = trackerAndInfos();
    for (let nth = 0; nth < 3; nth++) await tracker.trackPayment(order, { sessionId: "s1" });
    expect(infos).toEqual([expect.stringContaining("is a duplicate: it was reported before")]);
  });

  it("nothing is said of a click that counts, nor of a page without a reference", async () => {
    const { app, infos } = shop(clicking);
    await browser(app).get("/?ref=ALICE");
    await request(app).get("/").set("User-Agent", "curl/8.5.0");
    expect(infos).toEqual([]);
  });
});

describe("in production", () => {
  afterEach(() => void vi.unstubAllEnvs());
  const start = (options: Partial<AffiliateOptions> = {}) => {
    const logger = linesLogger();
    startTracker({ baseUrl: "http://127.0.0.1:1", logger, ...options });
    return logger.lines;
  };
  const outbox = () => diskOutbox({ directory: scratchDirectory() });

  it("a line says at the start that a tracker delivers from memory, and from nowhere else", () => {
    expect(start()).toEqual([]);
    vi.stubEnv("NODE_ENV", "production");
    const line = expect.stringMatching(/^express-affiliate: events wait in memory/);
    expect(start()).toEqual([line]);
    expect(start({ outbox: memoryOutbox() })).toEqual([line]);
    for (const other of [
      { enabled: false },
      { outbox: outbox() },
      { outbox: outbox(), delivery: false as const },
    ])
      expect(start(other)).toEqual([]);
  });
});

it("a tracker has a line in the log for each payment that a full outbox refuses", async () => {
  const logger = linesLogger();
  const outbox = memoryOutbox({ maxEvents: 1 });
  const tracker = startTracker({ baseUrl: "http://127.0.0.1:1", outbox, logger });
  for (let nth = 0; nth < 4; nth++) await pay(tracker, `order-${nth}`);

  const refused = logger.lines.filter((line) => line.includes("the memory outbox is full"));
  const named = refused.map((line) => /the payment "([^"]+)" \(\w{32}\) was dropped/.exec(line)?.[1]);
  expect(named).toEqual(["order-1", "order-2", "order-3"]);
});

it("a registration without `customerId` is known by its address", async () => {
  const tracker = startTracker({ baseUrl: "http://127.0.0.1:1", apiKey: undefined });
  const registered = (more: object) =>
    tracker.trackRegistration({ email: "ada@shop.example", ...more }, { clickId: "c" });
  const { id } = (await registered({ customerId: 7 })) as { id: string };
  const { outcome, id: byAddress } = (await registered({})) as { outcome: string; id: string };
  expect([outcome, byAddress === id]).toEqual(["queued", false]);
  expect(await registered({})).toEqual({ outcome: "duplicate", id: byAddress });
});

it("a tracker hands an event to the outbox before it returns: a response that is sent then leaves after an outbox on disk has stored it", () => {
  const outbox = memoryOutbox();
  const add = vi.spyOn(outbox, "add");
  const tracker = startTracker({ baseUrl: "http://127.0.0.1:1", outbox });
  for (let nth = 1; nth <= 3; nth++) {
    void pay(tracker, nth);
    expect(add).toHaveBeenCalledTimes(nth);
  }
});

it("a tracker rejects a report, and does not throw, whatever its outbox rejects with", async () => {
  const outbox = memoryOutbox();
  // Converting it to text throws.
  vi.spyOn(outbox, "add").mockRejectedValue(Object.create(null));
  const tracker = startTracker({ baseUrl: "http://127.0.0.1:1", outbox });
  expect(await pay(tracker)).toEqual({ outcome: "rejected", reason: "outbox" });
});
