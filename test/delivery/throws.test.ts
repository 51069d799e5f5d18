import type { EventKind } from "express-affiliate";
import { expect, it } from "vitest";
import { callsFor } from "../../src/service/calls.js";
import { FakeClock } from "../helpers/fake-clock.js";
import { startDelivery, VirtualService, yes } from "../helpers/virtual-delivery.js";

const KINDS: readonly EventKind[] = ["click", "registration", "payment"];

/** An outbox, delivery and service as they are, between which each seam may throw. */
function started() {
  const clock = new FakeClock();
  const service = new VirtualService(clock, ({ method }) =>
    method === "GET" ? { ...yes, body: { hasAffiliate: true } } : yes,
  );
  const calls = callsFor(1);
  let armed: string | undefined;
  function fire(seam: string): void {
    if (seam === armed) throw new Error(`thrown by ${seam}`);
  }

  const rig = startDelivery({
    ...{ clock, service, confirmReferral: "always" },
    transport: {
      async send(call, options) {
        fire(`${call.method}, unsent`);
        const attempt = await service.transport.send(call, options);
        fire(`${call.method}, answered`);
        return attempt;
      },
    },
    calls: {
      ...calls,
      status(session) {
        fire("the question");
        return calls.status(session);
      },
    },
    keyOf({ id }) {
      fire("the call");
      return id;
    },
  });
  let number = 0;
  async function add(kind: EventKind, seam?: string) {
    armed = seam;
    const { id } = await rig.add(kind, { clickId: `c${number}`, sessionId: `s${number++}` });
    await clock.pass(1_000);
    return id;
  }
  return { ...rig, add };
}

it.each(["GET, unsent", "GET, answered", "POST, unsent", "POST, answered", "the question", "the call"])(
  "if %s throws, no event is sent twice, no slot stays taken, and a dead letter shows it",
  async (seam) => {
    const { service, outbox, delivery, add } = started();
    for (const kind of KINDS) for (let nth = 0; nth < 10; nth++) await add(kind, seam);
    // Before a click nothing is asked.
    const isOfAll = !/GET|question/.test(seam);
    const letters = await outbox.deadLetters.list();
    expect(new Set(letters.map(({ reason }) => reason))).toEqual(new Set(["unconfirmed"]));
    expect(letters).toHaveLength(isOfAll ? 30 : 20);
    expect(new Set(service.taken).size).toBe(service.taken.length);
    expect([outbox.counts().queued, delivery.inFlight]).toEqual([0, 0]);

    const later = [await add("click"), await add("registration"), await add("payment")];
    expect(later.filter((id) => !service.takenAt.has(id))).toEqual([]);
    const { limit, lanes } = delivery.capacity();
    expect([limit, ...lanes.map((lane) => lane.limit)]).toEqual([8, 6, 6, 6, 6]);
  },
);
