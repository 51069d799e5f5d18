import type { EventKind } from "express-affiliate";
import { expect, test } from "vitest";
import type { Claim } from "../../src/outbox/claim.js";
import { UNTRIED } from "../../src/outbox/claim.js";
import { endpointOf } from "../../src/service/endpoints.js";
import { makeEvent, says, startDelivery } from "../helpers/virtual-delivery.js";

/** What delivery makes of an event whose process was killed during the first attempt. */
async function interrupted(kind: EventKind) {
  const { clock, service, delivery } = startDelivery({ reply: () => says(409) });
  const event = makeEvent(kind, { clickId: "c" }, 1, clock.now());
  const claim: Claim = {
    ...{ event, lane: { endpoint: endpointOf(event), limit: 1 }, queuedAt: clock.now() },
    ...{ history: { ...UNTRIED, attempts: 1 }, interrupted: true },
  };
  const ended = delivery.deliver(claim);
  await clock.pass(10);
  return { verdict: await ended, sent: service.sent.length };
}

test("a payment whose attempt was cut short by the end of its process is held, not sent again", async () => {
  const dead = { type: "dead", reason: "unconfirmed", code: "ERR_INTERRUPTED", attempts: 2 };
  expect(await interrupted("payment")).toMatchObject({ verdict: dead, sent: 0 });
});

test("a registration in the same case is sent again, and a conflict says that the service has it", async () => {
  expect(await interrupted("registration")).toEqual({ verdict: { type: "delivered" }, sent: 1 });
});
