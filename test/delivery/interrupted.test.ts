import type { Attribution, EventKind } from "express-affiliate";
import { expect, test } from "vitest";
import type { Claim } from "../../src/outbox/claim.js";
import { UNTRIED } from "../../src/outbox/claim.js";
import { endpointOf } from "../../src/service/endpoints.js";
import { makeEvent, says, startDelivery, type VirtualOptions } from "../helpers/virtual-delivery.js";

/** What delivery makes of an event whose process was killed during the first attempt. */
async function interrupted(
  kind: EventKind,
  options: VirtualOptions = {},
  ids: Attribution = { clickId: "c" },
) {
  const { clock, service, delivery } = startDelivery({ reply: () => says(409), ...options });
  const event = makeEvent(kind, ids, 1, clock.now());
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

test("a registration in the same case is remembered as one that the service may have, while its referral is not known", async () => {
  const options: VirtualOptions = { confirmReferral: "always", reply: () => says(503) };
  const { verdict } = await interrupted("registration", options, { sessionId: "s" });
  expect(verdict).toMatchObject({ type: "retry", history: { maybeTaken: true } });
});

test("a registration in the same case is remembered so, too, if the status endpoint is not asked because it has just failed", async () => {
  const { clock, delivery, outbox } = startDelivery({ confirmReferral: "always", reply: () => says(503) });
  await outbox.add(makeEvent("payment", { sessionId: "s1" }, 1, clock.now()));
  await clock.pass(100);
  const event = makeEvent("registration", { sessionId: "s2" }, 2, clock.now());
  const ended = delivery.deliver({
    ...{ event, lane: { endpoint: endpointOf(event), limit: 1 }, queuedAt: clock.now() },
    ...{ history: { ...UNTRIED, attempts: 1 }, interrupted: true },
  });
  await clock.pass(10);
  expect(await ended).toMatchObject({ type: "retry", history: { maybeTaken: true } });
});
