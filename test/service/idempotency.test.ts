import { createHash, createHmac, hkdfSync } from "node:crypto";
import { memoryOutbox, type OutboxEvent } from "express-affiliate";
import { diskOutbox } from "express-affiliate/disk";
import { recordingOutbox } from "express-affiliate/testing";
import { describe, expect, it } from "vitest";
import { idempotencyKeys, randomIdempotencyKey } from "../../src/service/idempotency.js";
import { sample } from "../contract/samples.js";
import { scratchDirectory } from "../helpers/scratch.js";
import { startService } from "../helpers/service.js";
import { linesLogger, startTracker } from "../helpers/tracker.js";

const payment = { paymentId: "order-1", customerEmail: "ada@shop.example", leadValue: 1 };

describe("an Idempotency-Key", () => {
  it("is derived from the API key and the event's id, as docs/wire.md says", () => {
    const event = sample("payment");
    const subkey = Buffer.from(hkdfSync("sha256", "the key", "", "express-affiliate Idempotency-Key", 32));
    const half = createHmac("sha256", subkey).update(event.id).digest().subarray(0, 16).toString("hex");
    expect(idempotencyKeys("the key")(event)).toBe(half);
    expect(half).toMatch(/^[0-9a-f]{32}$/);
  });

  it("is another for another event, for another API key, and in each process that has none", () => {
    const events = [sample("payment"), sample("payment"), sample("click")];
    const keys = ["a", "b", undefined, undefined].map(idempotencyKeys).flatMap((keyOf) => events.map(keyOf));
    expect(new Set(keys).size).toBe(12);
    expect(events.map(idempotencyKeys("a"))).toEqual(keys.slice(0, 3));
  });

  it("is the event's own if it was reported without an API key, whatever delivery has", () => {
    const event = sample("payment");
    const own = { ...event, data: { ...event.data, idempotencyKey: randomIdempotencyKey() } } as OutboxEvent;
    expect(own.data.idempotencyKey).toMatch(/^[0-9a-f]{32}$/);
    expect(idempotencyKeys("a")(own)).toBe(own.data.idempotencyKey);
    expect(idempotencyKeys(undefined)(own)).toBe(own.data.idempotencyKey);
  });

  it("is the same for two processes that have the API key, and none that a stranger can compute", async () => {
    const { url: baseUrl, posted } = await startService();
    for (const outbox of [memoryOutbox(), memoryOutbox()]) {
      const tracker = startTracker({ baseUrl, outbox });
      await tracker.trackPayment(payment, { sessionId: "s1" });
      await tracker.flush();
    }
    const keys = posted.map(({ headers }) => headers["idempotency-key"]);
    expect(keys[1]).toBe(keys[0]);
    expect(keys[0]).not.toBe(createHash("sha256").update("42 payment order-1").digest("hex").slice(0, 32));
  });

  it("that is random is not in what a test of a host sees", async () => {
    const outbox = recordingOutbox();
    const tracker = startTracker({ apiKey: undefined, outbox });
    await tracker.trackPayment(payment, { sessionId: "s1" });
    expect(outbox.events[0]?.data).toEqual({ ...payment, sessionId: "s1" });
  });
});

it("a random Idempotency-Key is kept with its event on disk, the same after a restart, and shown nowhere", async () => {
  const directory = scratchDirectory();
  let status = 500;
  const { url: baseUrl, posted } = await startService((_request, res) => {
    res.statusCode = status;
    return { success: status === 200, error: "no", message: "no", status };
  });
  const logger = linesLogger();
  const told: object[] = [];
  function open() {
    const outbox = diskOutbox({ directory });
    const tracker = startTracker({ baseUrl, apiKey: undefined, logger, outbox });
    for (const name of ["queued", "attempt", "retry", "dead", "delivered"] as const)
      tracker.on(name, (notice) => told.push(notice));
    return tracker;
  }

  const first = open();
  await first.trackPayment(payment, { sessionId: "s1" });
  await expect.poll(() => posted.length).toBeGreaterThan(1);
  await first.close();
  status = 400;
  const second = open();
  await expect.poll(() => second.stats().dead.rejected).toBe(1);
  const letters = await second.deadLetters.list();
  status = 200;
  await second.deadLetters.retry(letters[0]?.id as string);
  await expect.poll(() => second.stats().delivered).toBe(1);

  const keys = new Set(posted.map(({ headers }) => headers["idempotency-key"]));
  expect(keys.size).toBe(1);
  const [key] = keys as Set<string>;
  expect(key).toMatch(/^[0-9a-f]{32}$/);
  expect(key).not.toBe(letters[0]?.id);
  expect(letters[0]?.event).toEqual({ ...payment, sessionId: "s1" });
  expect(JSON.stringify([told, logger.lines, letters, posted.map(({ body }) => body)])).not.toContain(key);
});
