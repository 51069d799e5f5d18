import type { EventKind } from "express-affiliate";
import { expect, it } from "vitest";
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

/** The dead letters after a 409 that proves it. */
const TAKEN = { rejected: 0, unconfirmed: 0, expired: 0 };

it.each<[string, Reply, EventKind, object]>([
  // These say that the event was not taken.
  ["408", says(408), "payment", TAKEN],
  ["429", says(429), "payment", TAKEN],
  ["503", says(503), "payment", TAKEN],
  ["530", says(530), "payment", TAKEN],
  // These say nothing, and the event may be sent again.
  ["502", says(502), "click", TAKEN],
  ["520", says(520), "click", TAKEN],
  ["silence", hanging, "click", TAKEN],
  ["silence", hanging, "registration", TAKEN],
  // These cannot have taken it.
  ["an attempt without a connection", refused, "payment", { ...TAKEN, rejected: 1 }],
  ["a refusal", says(401), "payment", { ...TAKEN, rejected: 1 }],
  ["a request for a pause", says(429, { retryAfter: "1" }), "payment", { ...TAKEN, rejected: 1 }],
])(
  "a 409 after %s proves that the event was taken, if it can have been: %o, a %s",
  async (_name, first, kind, dead) => {
    expect(await answeredTwice(first, kind)).toMatchObject({ queued: 0, dead });
  },
);

it("delivery keeps a payment in doubt for the host to decide, whatever silence it met", async () => {
  for (const reply of [hanging, { ...hanging, afterMs: 5 }, says(504), says(520)]) {
    expect(await answeredTwice(reply)).toMatchObject({ queued: 0, dead: { unconfirmed: 1 } });
  }
});
