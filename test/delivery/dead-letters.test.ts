import { memoryOutbox } from "express-affiliate";
import { describe, expect, it } from "vitest";
import { diskOutbox } from "../../src/outbox/disk/disk-outbox.js";
import { answering, faultyService, hangingUp } from "../helpers/faulty-service.js";
import { pay } from "../helpers/pay.js";
import { scratchDirectory } from "../helpers/scratch.js";
import { startTracker } from "../helpers/tracker.js";
import { says, startDelivery } from "../helpers/virtual-delivery.js";

describe("a dead letter", () => {
  it("has the error's code if no answer came", async () => {
    const service = await faultyService({ onRequest: hangingUp });
    const tracker = startTracker({ baseUrl: service.url });
    const died = new Promise((resolve) => tracker.on("dead", resolve));
    await pay(tracker);
    expect(await died).toMatchObject({ reason: "unconfirmed", code: "UND_ERR_SOCKET", attempts: 1 });
    const [letter] = await tracker.deadLetters.list();
    expect(letter).toMatchObject({ reason: "unconfirmed", code: "UND_ERR_SOCKET", attempts: 1 });
    expect(letter).not.toHaveProperty("status");
  });

  it("stays where it is when the outbox has no room to retry it", async () => {
    const bounds = { maxEvents: 2 };
    const { clock, service, add, outbox } = startDelivery({ outbox: bounds, reply: () => says(400) });
    const { id } = await add("payment", { sessionId: "a" });
    await clock.pass(10);
    service.reply = () => says(500);
    await add("payment", { sessionId: "b" });
    await add("payment", { sessionId: "c" });
    expect(await outbox.deadLetters.retry(id)).toBe(false);
    expect(await outbox.deadLetters.retryAll()).toBe(0);
    expect((await outbox.deadLetters.list()).map((letter) => letter.id)).toEqual([id]);
    expect(outbox.counts().dead.rejected).toBe(1);
  });
});

it.each([
  ["memory", () => memoryOutbox({ maxDeadLetters: 1 })],
  ["disk", () => diskOutbox({ directory: scratchDirectory(), maxDeadLetters: 1 })],
])(
  "an event that no other dead letter makes room for dies, and is dropped then, with the %s outbox",
  async (_, outbox) => {
    const service = await faultyService({ onRequest: answering(422) });
    const tracker = startTracker({ baseUrl: service.url, outbox: outbox() });
    const told: string[] = [];
    tracker.on("dead", ({ kind }) => told.push(`${kind} is dead`));
    tracker.on("dropped", ({ kind }) => told.push(`${kind} is dropped`));
    await pay(tracker);
    await expect.poll(() => told).toEqual(["payment is dead"]);
    await tracker.trackClick({ affiliateReference: "ALICE" }, { clickId: "c" });
    await expect.poll(() => told).toEqual(["payment is dead", "click is dead", "click is dropped"]);
  },
);
