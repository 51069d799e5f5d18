import type { EventKind, OutboxEvent } from "express-affiliate";
import type { Claim } from "express-affiliate/outbox";
import { expect, test } from "vitest";
import { createDelivery } from "../../src/delivery/delivery.js";
import { eventFrom } from "../../src/inputs.js";
import { createJournal } from "../../src/journal/journal.js";
import { UNTRIED } from "../../src/outbox/outbox.js";
import type { Attempt } from "../../src/service/attempt.js";
import { type Call, callsFor } from "../../src/service/calls.js";
import { endpointOf } from "../../src/service/endpoints.js";
import { systemClock } from "../../src/shared/clock.js";
import { DESTINATION } from "../../src/testing/contract/samples.js";

const INPUTS: Record<EventKind, object> = {
  click: { affiliateReference: "ALICE" },
  registration: { email: "ann@shop.example", customerId: 1 },
  payment: { paymentId: 1, customerEmail: "ann@shop.example", leadValue: 9 },
};

function interrupted(kind: EventKind): Claim {
  const now = Date.now();
  const event = eventFrom(
    kind,
    INPUTS[kind],
    { clickId: "c" },
    { clientId: DESTINATION, now },
  ) as OutboxEvent;
  return {
    event,
    lane: { endpoint: endpointOf(event), limit: 1 },
    history: { ...UNTRIED, attempts: 1 },
    interrupted: true,
    queuedAt: now,
  };
}

function deliveryTo(status: number) {
  const sent: Call[] = [];
  const { deliver } = createDelivery({
    destination: DESTINATION,
    transport: {
      async send(call): Promise<Attempt> {
        sent.push(call);
        return { type: "answer", status, body: {} };
      },
    },
    calls: callsFor(1),
    keyOf: ({ id }) => id,
    concurrency: 8,
    maxAgeMs: 60_000,
    ambiguous: { click: "retry", registration: "retry", payment: "hold" },
    journal: createJournal({ logger: { warn() {}, error() {} }, clock: systemClock }),
    hide: (text) => text,
    onCapacity() {},
    clock: systemClock,
  });
  return { deliver, sent };
}

test("a payment whose attempt was cut short by the end of its process is held, not sent again", async () => {
  const { deliver, sent } = deliveryTo(200);

  const verdict = await deliver(interrupted("payment"));

  expect(verdict).toMatchObject({
    type: "dead",
    reason: "unconfirmed",
    code: "ERR_INTERRUPTED",
    attempts: 2,
  });
  expect(sent).toEqual([]);
});

test("a registration in the same case is sent again, and a conflict says that the service has it", async () => {
  const { deliver, sent } = deliveryTo(409);

  expect(await deliver(interrupted("registration"))).toEqual({ type: "delivered" });
  expect(sent).toHaveLength(1);
});
