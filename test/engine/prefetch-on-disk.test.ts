import type { EventKind, OutboxEvent } from "express-affiliate";
import type { Capacity, Endpoint } from "express-affiliate/outbox";
import fc from "fast-check";
import { expect, test } from "vitest";
import { createPrefetch } from "../../src/engine/prefetch.js";
import { precedenceOf } from "../../src/outbox/claim-steps.js";
import { claimsThrough } from "../../src/outbox/disk/asked-claims.js";
import type { DiskClaim, Request, Results } from "../../src/outbox/disk/protocol.js";
import { urgenciesOf } from "../../src/outbox/urgency.js";
import { ENDPOINTS, endpointOf } from "../../src/service/endpoints.js";
import { retryIn } from "../../src/testing/contract/recorder.js";
import { DESTINATION, sample } from "../../src/testing/contract/samples.js";
import { openDisk } from "../helpers/disk-store.js";
import { scratchDirectory } from "../helpers/scratch.js";

const HOUR_MS = 3_600_000;

/** A process: its store, and what its engine claims ahead from it. Each question is a transaction of its own. */
function startProcess(directory: string, owner: string) {
  const disk = openDisk(directory, { owner });
  let { snapshot } = disk.store.run([]);
  /** What is this process's, and not handed over. */
  const ahead = new Set<string>();
  const underWay: DiskClaim[] = [];
  let wantsToLook = false;

  async function ask<R extends Request>(request: R): Promise<Results[R["type"]]> {
    const done = disk.store.run([request]);
    ({ snapshot } = done);
    wantsToLook = snapshot.nextReadyAt !== null && snapshot.nextReadyAt <= Date.now();
    if (wantsToLook) claims.askStoreFirst();
    return done.results[0] as Results[R["type"]];
  }

  const { outranks, ...storage } = claimsThrough(ask, { snapshot: () => snapshot, leaseMs: 20_000 });
  const claims = createPrefetch<DiskClaim>(
    {
      async claim(capacity) {
        const claimed = await storage.claim(capacity);
        for (const { event } of claimed) ahead.add(event.id);
        return claimed;
      },
      settle(claim, verdict) {
        ahead.delete(claim.event.id);
        return storage.settle(claim, verdict);
      },
    },
    {
      mayGoTwice: (endpoint) => endpoint !== "lead/payment",
      isPaused: () => false,
      outranks,
      isWell: () => true,
    },
  );

  return {
    disk,
    claims,
    ahead,
    underWay,
    ask,
    hand(handed: readonly DiskClaim[]): void {
      for (const claim of handed) {
        ahead.delete(claim.event.id);
        underWay.push(claim);
      }
    },
    /** As long as the store says that there may be more. */
    async claim(capacity: Capacity): Promise<DiskClaim[]> {
      const all: DiskClaim[] = [];
      for (let look = 0; look === 0 || (wantsToLook && look < 5); look++) {
        const limit = capacity.limit - all.length;
        if (limit <= 0) break;
        const lanes = capacity.lanes.flatMap((lane) => {
          const left = lane.limit - all.filter((claim) => claim.lane.endpoint === lane.endpoint).length;
          return left > 0 ? [{ ...lane, limit: left }] : [];
        });
        all.push(...(await claims.claim({ ...capacity, limit, lanes })));
      }
      return all;
    },
  };
}

type Process = ReturnType<typeof startProcess>;

function sharesAnId({ data: one }: OutboxEvent, { data: other }: OutboxEvent): boolean {
  const shares = (name: "clickId" | "sessionId") => one[name] !== undefined && one[name] === other[name];
  return shares("clickId") || shares("sessionId");
}

/** How early live events go, which are in the order in which they came; more goes first. */
function precedencesOf(live: readonly OutboxEvent[], tried: ReadonlySet<string>): Map<string, number> {
  const which = (id: string) => (tried.has(id) ? "rested" : "untried");
  const all = urgenciesOf(live.map((event) => ({ event })));
  return new Map(
    all.map(
      ([
        {
          event: { id },
        },
        urgency,
      ]) => [id, precedenceOf(urgency, which(id))],
    ),
  );
}

const anId = fc.option(fc.integer({ min: 0, max: 7 }), { freq: 2 });
const aStep = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      what: fc.constant("append" as const),
      kind: fc.constantFrom<EventKind>("click", "click", "click", "registration", "payment"),
      clickId: anId,
      sessionId: anId,
      number: fc.constantFrom(1, 1, 1, 12),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      what: fc.constantFrom("claim" as const, "claim" as const, "next" as const),
      limit: fc.integer({ min: 1, max: 4 }),
      lanes: fc.uniqueArray(
        fc.record({ endpoint: fc.constantFrom(...ENDPOINTS), limit: fc.integer({ min: 1, max: 4 }) }),
        { selector: ({ endpoint }) => endpoint, minLength: 1 },
      ),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      what: fc.constant("settle" as const),
      verdict: fc.constantFrom("delivered", "delivered", "dead", "release", "retry", "rest"),
    }),
  },
);

type Step = typeof aStep extends fc.Arbitrary<infer T> ? T : never;

const claimOf = (...endpoints: Endpoint[]) => ({
  what: "claim" as const,
  limit: 1,
  lanes: endpoints.map((endpoint) => ({ endpoint, limit: 1 })),
});
const appendOf = (kind: EventKind, clickId: number | null) => ({
  ...{ what: "append" as const, kind, clickId, sessionId: null, number: 1 as const },
});
/** A payment that was tried, and a registration that a payment waits for: one slot for both. */
const RESTED_BESIDE_RAISED: [number, Step][] = [
  [0, appendOf("registration", 5)],
  [0, appendOf("payment", 5)],
  [0, appendOf("payment", null)],
  [0, claimOf("lead/payment")],
  [0, { what: "settle", verdict: "retry" }],
  [0, claimOf("lead/payment", "registration")],
];
/** A click that is prefetched, one that is in the store, and a registration that was tried: one slot for each of the clicks. */
const CLICK_LEFT_IN_THE_STORE: [number, Step][] = [
  [0, appendOf("registration", null)],
  [0, claimOf("lead/registration")],
  [0, appendOf("registration", null)],
  [0, appendOf("click", null)],
  [0, claimOf("lead/registration", "click")],
  [0, appendOf("click", null)],
  [0, { what: "settle", verdict: "retry" }],
  [0, appendOf("registration", null)],
  [0, claimOf("lead/registration")],
  [
    0,
    {
      ...{ what: "next", limit: 2 },
      lanes: [
        { endpoint: "click", limit: 2 },
        { endpoint: "lead/registration", limit: 1 },
      ],
    },
  ],
];

const VERDICTS = {
  delivered: { type: "delivered" },
  dead: { type: "dead", reason: "rejected", attempts: 1 },
  release: { type: "release" },
  retry: retryIn(0),
  rest: retryIn(HOUR_MS),
} as const;

test.each([1, 2])(
  "%d processes: whatever is claimed ahead, no event is handed on while a more urgent one may be",
  async (processes) => {
    const aSchedule = fc.array(fc.tuple(fc.nat(processes - 1), aStep), { minLength: 10, maxLength: 60 });
    await fc.assert(
      fc.asyncProperty(aSchedule, async (schedule) => {
        const directory = scratchDirectory();
        const all = Array.from({ length: processes }, (_, nth) => startProcess(directory, `${nth}`));
        const live: OutboxEvent[] = [];
        const resting = new Set<string>();
        const tried = new Set<string>();
        /** The process that asked last for claims, where no other has done anything since. */
        let informed = -1;

        const placeOf = ({ id }: OutboxEvent) => live.findIndex((event) => event.id === id);
        const isHead = (event: OutboxEvent) =>
          !live.slice(0, placeOf(event)).some((earlier) => sharesAnId(earlier, event));

        function expectTheMostUrgent(handed: readonly DiskClaim[], { limit, lanes }: Capacity, own: Process) {
          const precedences = precedencesOf(live, tried);
          const left = new Map<Endpoint, number>(lanes.map((lane) => [lane.endpoint, lane.limit]));
          let free = limit;
          for (const { event } of handed) {
            const endpoint = endpointOf(event);
            expect(isHead(event)).toBe(true);
            left.set(endpoint, (left.get(endpoint) ?? 0) - 1);
            free--;
          }
          const isTaken = (id: string) =>
            all.some(
              (each) =>
                each.underWay.some(({ event }) => event.id === id) || (each !== own && each.ahead.has(id)),
            );
          const waiting = live.filter(
            (event) =>
              isHead(event) &&
              !isTaken(event.id) &&
              !resting.has(event.id) &&
              !handed.some((h) => h.event.id === event.id),
          );
          for (const event of waiting) {
            // Its lane has no place left for it, or all that went is as urgent.
            const ofLane = handed.filter((each) => endpointOf(each.event) === endpointOf(event));
            const isOpen = lanes.some(({ endpoint }) => endpoint === endpointOf(event));
            const rivals = (left.get(endpointOf(event)) ?? 0) > 0 ? handed : ofLane;
            if (!isOpen) continue;
            for (const rival of rivals)
              expect(precedences.get(rival.event.id)).toBeGreaterThanOrEqual(
                precedences.get(event.id) as number,
              );
          }
          expect(free).toBeGreaterThanOrEqual(0);
        }

        for (const [nth, step] of schedule) {
          const own = all[nth] as Process;
          if (step.what === "append") {
            for (let n = 0; n < step.number; n++) {
              const event = sample(step.kind, {
                ...(step.clickId !== null && { clickId: `click-${step.clickId}-${n}` }),
                ...(step.sessionId !== null && { sessionId: `session-${step.sessionId}-${n}` }),
              });
              await own.ask({ type: "append", event });
              live.push(event);
            }
            own.claims.askStoreFirst();
          } else if (step.what === "settle") {
            const claim = own.underWay.shift();
            if (!claim) continue;
            const { event } = claim;
            await own.claims.settle(claim, VERDICTS[step.verdict as keyof typeof VERDICTS]);
            // As at the end of its rest.
            if (step.verdict === "retry") own.claims.askStoreFirst();
            if (step.verdict === "retry" || step.verdict === "rest") tried.add(event.id);
            if (step.verdict === "rest") resting.add(event.id);
            if (step.verdict === "delivered" || step.verdict === "dead") live.splice(placeOf(event), 1);
          } else {
            const lanes = ENDPOINTS.flatMap((name) => step.lanes.filter(({ endpoint }) => endpoint === name));
            const capacity = { destination: DESTINATION, limit: step.limit, lanes };
            // What another process did since is not known before the store is asked.
            if (step.what === "next" && informed !== nth) continue;
            const handed =
              step.what === "claim" ? await own.claim(capacity) : [...own.claims.next(() => capacity)];
            expectTheMostUrgent(handed, capacity, own);
            own.hand(handed);
            informed = nth;
          }
          if (informed !== nth) informed = -1;
        }
        for (const { disk } of all) disk.close();
      }),
      { numRuns: 60, examples: [[RESTED_BESIDE_RAISED], [CLICK_LEFT_IN_THE_STORE]] },
    );
  },
  120_000,
);
