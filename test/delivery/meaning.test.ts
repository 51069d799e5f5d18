import type { EventKind } from "express-affiliate";
import { describe, expect, it } from "vitest";
import { hanging, type Reply, refused, says, startDelivery } from "../helpers/virtual-delivery.js";

/** A payment whose first attempt ends like this, and whose second is answered 409. */
async function answeredTwice(first: Reply, kind: EventKind = "payment") {
  const rig = startDelivery({ reply: () => first });
  await rig.add(kind, { sessionId: "s" });
  await rig.clock.pass(first.afterMs + 1);
  rig.service.reply = () => says(409);
  await rig.clock.pass(60_000);
  return rig.outbox.counts();
}

describe("a 409", () => {
  it.each([408, 429, 503, 530])(
    "after %i, which says that the event was not taken, is the proof that it was",
    async (status) => {
      expect(await answeredTwice(says(status))).toMatchObject({
        queued: 0,
        dead: { rejected: 0, unconfirmed: 0 },
      });
    },
  );

  it.each([502, 520])(
    "after %i, which says nothing, is that proof for what may be sent again",
    async (status) => {
      expect(await answeredTwice(says(status), "click")).toMatchObject({ queued: 0, dead: { rejected: 0 } });
    },
  );

  it.each(["click", "registration"] as const)("after silence is that proof for a %s", async (kind) => {
    const dead = { rejected: 0, unconfirmed: 0 };
    expect(await answeredTwice(hanging, kind)).toMatchObject({ queued: 0, dead });
  });

  it.each([
    ["an attempt without a connection", refused],
    ["a refusal", says(401)],
    ["a request for a pause", says(429, { retryAfter: "1" })],
  ])("after %s, which cannot have been taken, rejects the event", async (_name, first) => {
    expect(await answeredTwice(first)).toMatchObject({ queued: 0, dead: { rejected: 1 } });
  });
});

it("delivery keeps a payment in doubt for the host to decide, whatever silence it met", async () => {
  for (const reply of [hanging, { ...hanging, afterMs: 5 }, says(504), says(520)]) {
    expect(await answeredTwice(reply)).toMatchObject({ queued: 0, dead: { unconfirmed: 1 } });
  }
});
