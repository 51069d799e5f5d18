import { setImmediate as endOfTick } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import type { Lane } from "../../../../src/outbox/claim.js";
import { UNTRIED } from "../../../../src/outbox/claim.js";
import type { DiskClaim, Request, Snapshot } from "../../../../src/outbox/disk/queue/requests.js";
import type { Store } from "../../../../src/outbox/disk/queue/store.js";
import type { Endpoint } from "../../../../src/service/endpoints.js";
import { ENDPOINTS, kindOf } from "../../../../src/service/endpoints.js";
import { sample } from "../../../contract/samples.js";
import { RELEASED } from "../../../helpers/disk-store.js";
import { startLoop } from "../../../helpers/loop.js";

type Waiting = Partial<Record<Endpoint, number>>;

const QUEUED = { requests: [{ type: "append", event: sample("click") }], generation: 0 } as const;

/**
 * The loop over a store that has so many events, all of different visitors; those of `mostUrgent`
 * are claimed first.
 */
async function started(left: Waiting, mostUrgent?: Endpoint) {
  const passes: (readonly Request[])[] = [];
  const file = { error: undefined as Error | undefined, hasChanged: false };
  let attempts = 0;
  let seq = 0;
  const answers: { readonly [Type in Request["type"]]?: unknown } = { append: "queued", settle: true };

  function claimOf(lane: Lane): DiskClaim {
    const urgency = kindOf(lane.endpoint);
    const event = sample(urgency);
    const by = { owner: "me", leaseEpoch: 1, seq: seq++ };
    return { event, lane, urgency, history: UNTRIED, interrupted: false, queuedAt: 0, ...by };
  }

  function run(requests: readonly Request[]): ReturnType<Store["run"]> {
    attempts++;
    if (file.error) throw file.error;
    passes.push(requests);
    const results = requests.map((request) => {
      if (request.type === "settle" && request.verdict.type === "release") {
        const [endpoint = "click"] = ENDPOINTS.filter((name) => kindOf(name) === request.claimed.kind);
        left[endpoint] = (left[endpoint] ?? 0) + 1;
      }
      if (request.type !== "claim") return answers[request.type];
      let free = request.capacity.limit;
      const isFirst = ({ endpoint }: Lane) => Number(endpoint === mostUrgent);
      const lanes = request.capacity.lanes.toSorted((a, b) => isFirst(b) - isFirst(a));
      return lanes.flatMap((lane) => {
        const number = Math.min(lane.limit, free, left[lane.endpoint] ?? 0);
        free -= number;
        left[lane.endpoint] = (left[lane.endpoint] ?? 0) - number;
        return Array.from({ length: number }, () => claimOf(lane));
      });
    });
    const snapshot = {
      hasChanged: file.hasChanged && requests.every(({ type }) => type !== "claim"),
      leaseEpoch: { number: 1 },
      nextReadyAt: null,
    } as Partial<Snapshot>;
    return { results: results as never, snapshot: snapshot as Snapshot, dropped: [], unreadable: [] };
  }

  const loop = startLoop({ run });
  loop.loop.start(loop.sender);
  await endOfTick();
  // The second claim knows which endpoints have more.
  loop.loop.take(QUEUED);
  await endOfTick();
  passes.shift();
  return {
    ...loop,
    ...{ left, passes, file, attempts: () => attempts },
    typesOf: (pass: readonly Request[] | undefined) => pass?.map(({ type }) => type),
    ofEndpoint: (endpoint: Endpoint) => loop.sent.filter(({ lane }) => lane.endpoint === endpoint).length,
  };
}

describe("prefetched events", () => {
  it("are sent when an attempt has ended, without a pass in between", async () => {
    const { end, passes, sent } = await started({ click: 30 });
    expect(sent).toHaveLength(6);
    const before = passes.length;
    await end(4);
    expect(sent).toHaveLength(10);
    expect(passes).toHaveLength(before);
  });

  it("are more with each claim, so that 600 events take fewer than 130 passes", async () => {
    const { end, clock, passes, sent } = await started({ click: 600 });
    while (sent.length < 600) {
      await end(6);
      await clock.pass(10);
    }
    expect(passes.length).toBeLessThan(130);
  });

  it("are at most 64, those of all endpoints together", async () => {
    const { end, clock, left, sent } = await started({ click: 900, registration: 900 });
    let most = 0;
    while (sent.length < 900) {
      await end(8);
      await clock.pass(10);
      most = Math.max(most, 1_800 - (left.click ?? 0) - (left.registration ?? 0) - sent.length);
    }
    expect(most).toBeGreaterThan(48);
    expect(most).toBeLessThanOrEqual(64);
  });

  it("are no payments: no more of these are claimed than there are slots", async () => {
    const { end, left, ofEndpoint, clock } = await started({ "lead/payment": 50 });
    const claimed = () => 50 - (left["lead/payment"] ?? 0);
    expect(claimed()).toBe(6);
    await end(3);
    expect(claimed()).toBe(6);
    await clock.pass(2);
    expect(claimed()).toBe(9);
    expect(ofEndpoint("lead/payment")).toBe(9);
  });

  it("are never payments: a payment is released at once if more urgent events took all slots", async () => {
    const { loop, left, sent, ofEndpoint } = await started(
      { registration: 6, "lead/payment": 50 },
      "registration",
    );
    expect(sent).toHaveLength(8);
    loop.take(QUEUED);
    await endOfTick();
    expect(50 - (left["lead/payment"] ?? 0)).toBe(ofEndpoint("lead/payment"));
  });

  it("are sent only after a claim, once a new event has come", async () => {
    const { loop, end, left, sent, passes, ofEndpoint } = await started({ click: 30 });
    left["lead/payment"] = 1;
    loop.take(QUEUED);
    await end(1);
    expect(sent).toHaveLength(6);
    await endOfTick();
    expect(passes).toHaveLength(2);
    expect(ofEndpoint("lead/payment")).toBe(1);
    expect(ofEndpoint("click")).toBe(7 - 1 + 1);
  });

  it("are released, and claimed again in the same pass, once a verdict has made another event ready", async () => {
    const { end, file, passes, typesOf, sent, clock } = await started({ click: 30 });
    await end(1);
    expect(sent).toHaveLength(7);
    file.hasChanged = true;
    await clock.pass(10);
    expect(typesOf(passes.at(-1))).toEqual(["settle"]);
    await end(1);
    expect(sent).toHaveLength(7);
    const before = passes.length;
    await clock.pass(2);
    expect(sent).toHaveLength(8);
    expect(passes).toHaveLength(before + 1);
    expect(typesOf(passes.at(-1))).toEqual([...Array(4).fill("settle"), "claim"]);
  });

  it("wait while the file may have a more urgent event for a slot of another endpoint", async () => {
    const { end, left, sent, ofEndpoint, clock } = await started({ "lead/payment": 7, click: 30 });
    expect(sent).toHaveLength(8);
    await end(1, { endpoint: "lead/payment" });
    expect(sent).toHaveLength(8);
    await clock.pass(2);
    expect(left["lead/payment"]).toBe(0);
    expect(ofEndpoint("click")).toBe(2);
  });

  it("are released if their endpoint is paused", async () => {
    const { end, paused, slots, left, passes, clock } = await started({ click: 30 });
    paused.add("click");
    slots.lanes = slots.lanes.filter(({ endpoint }) => endpoint !== "click");
    await end(1);
    await clock.pass(2);
    expect(left.click).toBe(30 - 6);
    expect(passes.at(-1)?.filter(({ type }) => type === "settle")).toHaveLength(5);
  });

  it.each([{ newestFirst: true }, { newWithinMs: 15_000 }, { evenResting: true }])(
    "are released if their endpoint's lane has another order: %o",
    async (others) => {
      const { end, slots, sent, left, clock } = await started({ click: 30 });
      slots.lanes = [{ endpoint: "click", limit: 6, ...others }];
      await end(1);
      await clock.pass(2);
      expect(sent).toHaveLength(7);
      expect(left.click).toBe(30 - 7);
    },
  );

  it("are released when delivery stops, and nothing more is claimed", async () => {
    const { loop, end, left, sent, clock } = await started({ click: 30 });
    const stopped = loop.stop();
    await end(6);
    await stopped;
    await clock.pass(10);
    expect(sent).toHaveLength(6);
    expect(left.click).toBe(30 - 6);
  });

  it("are released when the process ends at once", async () => {
    const { loop, left } = await started({ click: 30 });
    expect(left.click).toBe(30 - 10);
    loop.end();
    expect(left.click).toBe(30 - 6);
  });
});

describe("a pass", () => {
  it("is followed by another one if a verdict makes an event ready while a slot is free", async () => {
    const { end, file, left, ofEndpoint, sent, clock } = await started({ click: 30 });
    await end(1);
    expect(sent).toHaveLength(7);
    file.hasChanged = true;
    left["lead/payment"] = 1;
    await clock.pass(10);
    file.hasChanged = false;
    await clock.pass(10);
    expect(ofEndpoint("lead/payment")).toBe(1);
  });

  it("that has nothing to do reports to the host that the loop is idle again", async () => {
    const { loop, slots, news } = await started({});
    slots.limit = 0;
    loop.wake();
    expect(loop.idle).toBe(false);
    const before = news.length;
    await endOfTick();
    expect(loop.idle).toBe(true);
    expect(news.length).toBeGreaterThan(before);
  });

  it("settles, then appends, then claims", async () => {
    const { loop, end, passes, typesOf } = await started({ "lead/payment": 20 });
    await end(2);
    loop.take(QUEUED);
    await endOfTick();
    expect(typesOf(passes.at(-1))).toEqual(["settle", "settle", "append", "claim"]);
  });

  it("takes one batch of the host's, and answers it", async () => {
    const { loop, done } = await started({});
    const before = done.length;
    loop.take(QUEUED);
    loop.take({ ...QUEUED, requests: [...QUEUED.requests, ...QUEUED.requests] });
    await endOfTick();
    await endOfTick();
    await endOfTick();
    expect(done.slice(before).map(({ results }) => results)).toEqual([["queued"], ["queued", "queued"]]);
  });

  it("waits for verdicts that are expected within a fifth of how long the last attempt took", async () => {
    const { end, passes, clock } = await started({ "lead/payment": 50 });
    await clock.pass(15);
    await end(1);
    await clock.pass(2);
    expect(passes).toHaveLength(1);
    await clock.pass(1);
    expect(passes).toHaveLength(2);
  });

  it("waits no longer once all expected verdicts are there", async () => {
    const { end, passes, clock } = await started({ "lead/payment": 50 });
    await clock.pass(15);
    await end(3);
    await clock.pass(3);
    await end(3);
    await endOfTick();
    expect(passes).toHaveLength(3);
    expect(passes[2]?.filter(({ type }) => type === "settle")).toHaveLength(3);
  });

  it("waits for no verdict that is expected later, or overdue", async () => {
    const { end, passes, clock, underWay } = await started({ "lead/payment": 50 });
    await clock.pass(15);
    await end(1);
    await clock.pass(5);
    expect(passes).toHaveLength(2);
    await end(5);
    await endOfTick();
    expect(passes).toHaveLength(3);
    // The first is the one that began later. It does not end.
    for (const number of [4, 5]) {
      await clock.pass(20);
      for (const attempt of underWay.slice(1)) attempt.end();
      await endOfTick();
      await clock.pass(number === 4 ? 4 : 0);
      await endOfTick();
      expect(passes).toHaveLength(number);
    }
  });

  it("waits longer while no slot is free", async () => {
    const { end, passes, clock } = await started({ click: 50 });
    await end(1);
    await clock.pass(9);
    expect(passes).toHaveLength(1);
    await clock.pass(1);
    expect(passes).toHaveLength(2);
  });

  it("waits for nothing if no attempt is under way", async () => {
    const { end, settled } = await started({ "lead/payment": 6 });
    await end(6);
    await endOfTick();
    expect(settled).toEqual(Array(6).fill("delivered"));
  });

  it("begins at the end of the tick if delivery makes a request", async () => {
    const { loop, passes, typesOf, done } = await started({ "lead/payment": 20 });
    const before = done.length;
    loop.stop();
    void loop.ask({ type: "circuits", destination: 1 });
    await endOfTick();
    expect(typesOf(passes.at(-1))).toEqual(["circuits"]);
    expect(done).toHaveLength(before);
  });
});

describe("a file that fails", () => {
  it("gets the verdicts once it works again, and nothing is sent before", async () => {
    const { loop, end, file, clock, settled, sent } = await started({ click: 30 });
    file.error = new Error("disk I/O error");
    await end(1);
    await clock.pass(10);
    expect(loop.problem?.message).toContain("disk I/O error");
    const before = sent.length;
    await end(2);
    await clock.pass(500);
    expect(sent).toHaveLength(before);
    expect(settled).not.toContain("delivered");
    file.error = undefined;
    await clock.pass(1_000);
    expect(settled.filter((type) => type !== "release")).toEqual(["delivered", "delivered", "delivered"]);
    expect(loop.problem).toBeUndefined();
    expect(sent.length).toBeGreaterThan(before);
  });

  it("is left alone until it is time to try it", async () => {
    const { end, file, clock, attempts } = await started({ click: 30 });
    file.error = new Error("disk I/O error");
    await end(1);
    await clock.pass(10);
    await endOfTick();
    const before = attempts();
    await end(1);
    await clock.pass(900);
    expect(attempts()).toBe(before);
    // No pass is scheduled.
    expect(process.getActiveResourcesInfo()).not.toContain("Immediate");
  });

  it("is tried after growing pauses; the host's batches are not held up, and fail together", async () => {
    const { loop, end, file, failed, passes, clock } = await started({ "lead/payment": 6 });
    file.error = new Error("disk I/O error");
    await end(1);
    await clock.pass(2);
    loop.take({ ...QUEUED, generation: 1 });
    loop.take({ ...QUEUED, generation: 1 });
    await endOfTick();
    loop.take({ ...QUEUED, generation: 1 });
    await endOfTick();
    expect(failed).toMatchObject([{ generation: 1 }]);
    file.error = undefined;
    const before = passes.length;
    loop.take({ ...QUEUED, generation: 2 });
    await endOfTick();
    expect(passes.slice(before)).toEqual([QUEUED.requests]);
    await clock.pass(1_000);
    expect(passes).toHaveLength(before + 2);
  });
});

it("makes an event unconfirmed if `deliver` rejects: it may have been sent", async () => {
  const { underWay, errors, passes, clock } = await started({ "lead/payment": 2 });
  const error = new Error("a mistake");
  underWay[0]?.fail(error);
  await endOfTick();
  await clock.pass(2);
  expect(errors).toEqual([error]);
  expect(passes.at(-1)?.[0]).toMatchObject({ verdict: { type: "dead", reason: "unconfirmed", attempts: 1 } });
});

it("claims an event again that delivery has released", async () => {
  const { end, left, clock, sent } = await started({ "lead/payment": 1 });
  await end(1, { verdict: RELEASED });
  await endOfTick();
  await clock.pass(2);
  expect(sent).toHaveLength(2);
  expect(left["lead/payment"]).toBe(0);
});

it("stores a skipped event as delivered; listeners get `skipped`", async () => {
  const { end, passes, settled, clock } = await started({ registration: 1 });
  await end(1, { verdict: { type: "skipped", reason: "not-referred" } });
  await endOfTick();
  await clock.pass(2);
  expect(passes.at(-1)?.[0]).toMatchObject({ type: "settle", verdict: { type: "delivered" } });
  expect(settled).toEqual(["skipped"]);
});
