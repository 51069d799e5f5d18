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

it.each<[string, EventKind, Reply, object]>([
  // These say that the event was not taken.
  ["408", "payment", says(408), TAKEN],
  ["429", "payment", says(429), TAKEN],
  ["503", "payment", says(503), TAKEN],
  ["530", "payment", says(530), TAKEN],
  // These say nothing, and the event may be sent again.
  ["502", "click", says(502), TAKEN],
  ["520", "click", says(520), TAKEN],
  ["silence", "click", hanging, TAKEN],
  ["silence", "registration", hanging, TAKEN],
  // These cannot have taken it.
  ["an attempt without a connection", "payment", refused, { ...TAKEN, rejected: 1 }],
  ["a refusal", "payment", says(401), { ...TAKEN, rejected: 1 }],
  ["a request for a pause", "payment", says(429, { retryAfter: "1" }), { ...TAKEN, rejected: 1 }],
])("a 409 after %s proves that a %s was taken, if it can have been", async (_name, kind, first, dead) => {
  expect(await answeredTwice(first, kind)).toMatchObject({ queued: 0, dead });
});

it("delivery keeps a payment in doubt for the host to decide, whatever silence it met", async () => {
  for (const reply of [hanging, { ...hanging, afterMs: 5 }, says(504), says(520)]) {
    expect(await answeredTwice(reply)).toMatchObject({ queued: 0, dead: { unconfirmed: 1 } });
  }
});
