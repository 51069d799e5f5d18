import express, { type RequestHandler } from "express";
import { type AffiliateOptions, memoryOutbox } from "express-affiliate";
import { diskOutbox } from "express-affiliate/disk";
import request from "supertest";
import { afterEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { pay } from "./helpers/pay.js";
import { scratchDirectory } from "./helpers/scratch.js";
import { startTracker, trackerWithLines } from "./helpers/tracker.js";

const responds: RequestHandler = (_req, res) => void res.end();

describe("outside production", () => {
  afterEach(() => void vi.unstubAllEnvs());

  it("the console shows why nothing is reported, and in production nothing does", async () => {
    const said = vi.spyOn(console, "info").mockReturnValue();
    const tracker = startTracker({ logger: undefined });
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
    const { tracker, lines } = trackerWithLines();
    for (let nth = 0; nth < 3; nth++) await pay(tracker, 1);
    expect(lines.filter((line) => line.includes("is a duplicate: it was reported before"))).toHaveLength(1);
  });
});

it("in production, a line says at the start that a tracker delivers from memory, and from nowhere else", () => {
  onTestFinished(() => void vi.unstubAllEnvs());
  const start = (options: Partial<AffiliateOptions> = {}) => trackerWithLines(options).lines;
  const outbox = () => diskOutbox({ directory: scratchDirectory() });
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

it("a tracker hands an event to the outbox before it returns: a response that is sent then leaves after an outbox on disk has stored it", () => {
  const outbox = memoryOutbox();
  const add = vi.spyOn(outbox, "add");
  const tracker = startTracker({ outbox });
  for (let nth = 1; nth <= 3; nth++) {
    void pay(tracker, nth);
    expect(add).toHaveBeenCalledTimes(nth);
  }
});

it("a tracker rejects a report, and does not throw, whatever its outbox rejects with", async () => {
  const outbox = memoryOutbox();
  // Converting it to text throws.
  vi.spyOn(outbox, "add").mockRejectedValue(Object.create(null));
  expect(await pay(startTracker({ outbox }))).toEqual({ outcome: "rejected", reason: "outbox" });
});
