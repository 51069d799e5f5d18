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

it("`delivered` has the service's lead id of a registration and a payment, and none of a click", async () => {
  // Of two payments, the answer to the last has none.
  const leadIds: Record<string, unknown> = { click: 1, registration: 2, payment: "3" };
  const { add, clock, noticesOf } = startDelivery({
    reply: ({ path }) => says(200, { body: { leadId: leadIds[path.split("/").at(-1) ?? ""] } }),
  });
  for (const kind of ["click", "registration", "payment"] as const) await add(kind, { clickId: "c" });
  await clock.pass(1_000);
  leadIds.payment = undefined;
  await add("payment", { sessionId: "s" });
  await clock.pass(1_000);
  expect(noticesOf("delivered").map(({ kind, leadId }) => [kind, leadId])).toEqual([
    ["click", undefined],
    ["registration", 2],
    ["payment", 3],
    ["payment", undefined],
  ]);
});
