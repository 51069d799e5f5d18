import { describe, expect, it, test } from "vitest";
import type { Call } from "../../src/service/calls.js";
import { says, startDelivery, yes } from "../helpers/virtual-delivery.js";

const SECOND_MS = 1_000;
const HOUR_MS = 3_600_000;
describe("age", () => {
  it("kills an event whose attempt fails past `maxAgeMs` while others are taken, and no sooner", async () => {
    const isPoison = ({ body }: Call) => Object(body).sessionId === "poison";
    const { clock, service, outbox, add, noticesOf } = startDelivery({
      maxAgeMs: HOUR_MS,
      reply: (call) => (isPoison(call) ? says(500) : yes),
    });
    await add("payment", { sessionId: "poison" });
    for (let minute = 0; minute < 80; minute++) {
      await add("payment", { sessionId: `s${minute}` });
      await clock.pass(60 * SECOND_MS);
      if (minute < 60) expect(noticesOf("dead")).toEqual([]);
    }
    expect(outbox.counts()).toMatchObject({ queued: 0, dead: { expired: 1 } });
    const [letter] = await outbox.deadLetters.list();
    const attempts = service.posts.filter(({ call }) => isPoison(call)).length;
    expect(letter).toMatchObject({ reason: "expired", status: 500, attempts });
    expect(letter?.diedAt).toBeGreaterThan((letter?.createdAt ?? 0) + HOUR_MS);
  });

  it("kills no event while the service takes no others, however often it fails", async () => {
    const { clock, service, add, outbox, noticesOf } = startDelivery({ reply: () => says(500) });
    await add("registration", { clickId: "c" });
    await clock.pass(80 * HOUR_MS);
    expect(outbox.counts().queued).toBe(1);
    expect(service.posts.length).toBeGreaterThan(250);
    expect(noticesOf("paused")).toEqual([]);
  });
});

test.each([1, 2, 3])(
  "a service that dies behind its gateway while requests are under way, %i of them taken, costs 8 payments at most",
  async (taken) => {
    let requests = 0;
    const { outbox, add, clock } = startDelivery({
      reply: ({ method }) => {
        if (method === "GET") return says(502);
        requests++;
        if (requests <= taken) return { ...yes, afterMs: 10 };
        return { ...says(502), afterMs: requests <= 6 ? 12 : 5 };
      },
    });
    for (let nth = 0; nth < 50; nth++) await add("payment", { sessionId: `s${nth}` });
    await clock.pass(30 * SECOND_MS);

    const { queued, dead } = outbox.counts();
    expect(dead.unconfirmed).toBeGreaterThan(0);
    expect(dead.unconfirmed).toBeLessThanOrEqual(8);
    expect(queued).toBe(50 - taken - dead.unconfirmed);
  },
);
