import { expect, test } from "vitest";
import { says, startDelivery } from "../helpers/virtual-delivery.js";

test("`delivered` has the service's lead id of a registration and a payment, and none of a click", async () => {
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
