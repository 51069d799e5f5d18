import { memoryOutbox } from "express-affiliate";
import { expect, it, vi } from "vitest";
import { pay } from "./helpers/pay.js";
import { linesLogger, startTracker } from "./helpers/tracker.js";

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
