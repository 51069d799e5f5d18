import type { Attribution, EventKind } from "express-affiliate";
import { expect, test } from "vitest";
import { UNTRIED } from "../../src/outbox/outbox.js";
import { endpointOf } from "../../src/service/endpoints.js";
import { makeEvent, says, startDelivery, type VirtualOptions } from "../helpers/virtual-delivery.js";

/** What delivery makes of an event whose process was killed during the first attempt. */
async function interrupted(
  kind: EventKind,
  { ids = { clickId: "c" }, ...options }: VirtualOptions & { ids?: Attribution } = {},
  rig = startDelivery({ reply: () => says(409), ...options }),
) {
  const { clock, service, delivery } = rig;
  const event = makeEvent(kind, ids, 1, clock.now());
  const sentBefore = service.sent.length;
  const ended = delivery.deliver({
    ...{ event, lane: { endpoint: endpointOf(event), limit: 1 }, queuedAt: clock.now() },
    ...{ history: { ...UNTRIED, attempts: 1 }, interrupted: true },
  });
  await clock.pass(10);
  return { verdict: await ended, sent: service.sent.length - sentBefore };
}

test("a payment whose attempt was cut short by the end of its process is held, not sent again", async () => {
  const dead = { type: "dead", reason: "unconfirmed", code: "ERR_INTERRUPTED", attempts: 2 };
  expect(await interrupted("payment")).toMatchObject({ verdict: dead, sent: 0 });
});

test("a registration in the same case is sent again, and a conflict says that the service has it", async () => {
  expect(await interrupted("registration")).toEqual({ verdict: { type: "delivered" }, sent: 1 });
});

test("a registration in the same case is remembered as one that the service may have, while its referral is not known", async () => {
  const rig = startDelivery({ confirmReferral: "always", reply: () => says(503) });
  // The second time, the status endpoint is not asked, because it has just failed.
  for (const sent of [1, 0]) {
    const verdict = { type: "retry", history: { maybeTaken: true } };
    expect(await interrupted("registration", { ids: { sessionId: "s" } }, rig)).toMatchObject({
      verdict,
      sent,
    });
  }
});

test("a payment that another process has taken over since it was claimed is not sent", async () => {
  const { clock, service, delivery } = startDelivery();
  const event = makeEvent("payment", { clickId: "c" }, 1, clock.now());
  const verdict = await delivery.deliver({
    ...{ event, lane: { endpoint: endpointOf(event), limit: 1 }, queuedAt: clock.now() },
    ...{ history: UNTRIED, interrupted: false, isLeased: () => false },
  });
  expect([verdict, service.sent]).toEqual([{ type: "release" }, []]);
});
