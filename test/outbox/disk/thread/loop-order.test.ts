import { setImmediate as endOfTick } from "node:timers/promises";
import type { EventKind, OutboxEvent } from "express-affiliate";
import fc from "fast-check";
import { expect, test } from "vitest";
import type { Claim, Verdict } from "../../../../src/outbox/claim.js";
import { claimStepsOf } from "../../../../src/outbox/claim-steps.js";
import type { Request } from "../../../../src/outbox/disk/queue/requests.js";
import { urgenciesOf } from "../../../../src/outbox/urgency.js";
import type { Endpoint } from "../../../../src/service/endpoints.js";
import { ENDPOINTS, endpointOf } from "../../../../src/service/endpoints.js";
import { retryIn } from "../../../contract/recorder.js";
import { sample } from "../../../contract/samples.js";
import { openDisk } from "../../../helpers/disk-store.js";
import { startLoop } from "../../../helpers/loop.js";
import { scratchDirectory } from "../../../helpers/scratch.js";

const HOUR_MS = 3_600_000;
const RESTS: Verdict = retryIn(HOUR_MS);
const VERDICTS: Record<string, Verdict> = {
  delivered: { type: "delivered" },
  dead: { type: "dead", reason: "rejected", attempts: 1 },
  release: { type: "release" },
  retry: retryIn(0),
  rest: RESTS,
};

/** What all processes have stored. `live` is in the order of arrival. */
interface World {
  live: OutboxEvent[];
  readonly tried: Set<string>;
  readonly resting: Set<string>;
  /** The process that has asked for claims, if no other has done anything since. */
  informed: number;
  readonly wrong: string[];
  /** Of each process, what it has claimed. */
  readonly claimed: ReadonlySet<string>[];
}

function startProcess(directory: string, nth: number, world: World) {
  const disk = openDisk(directory, { owner: `${nth}` });
  const claimed = new Set<string>();
  world.claimed.push(claimed);
  /** The ids of events that were sent and have no stored verdict yet. */
  const sent = new Set<string>();
  let appended: OutboxEvent[] = [];

  function run(requests: readonly Request[]) {
    const outcome = disk.store.run(requests);
    appended = requests.flatMap((each) => (each.type === "append" ? [each.event] : []));
    for (const [at, request] of requests.entries()) {
      if (request.type === "settle") claimed.delete(request.claimed.id);
      if (request.type === "settle") sent.delete(request.claimed.id);
      if (request.type === "claim")
        for (const { event } of outcome.results[at] as readonly Claim[]) claimed.add(event.id);
    }
    const hasAsked = requests.some(({ type }) => type === "claim");
    if (hasAsked || world.informed !== nth) world.informed = hasAsked ? nth : -1;
    return outcome;
  }

  const started = startLoop(
    { run },
    {
      onDone({ snapshot }) {
        world.live.push(...appended.splice(0));
        // As the thread's alarm does.
        if (snapshot.nextReadyAt !== null && snapshot.nextReadyAt <= Date.now()) started.loop.wake();
      },
      onSettled({ id }, verdict) {
        if (verdict.type === "retry") world.tried.add(id);
        if (verdict === RESTS) world.resting.add(id);
        // As at the end of its rest.
        else if (verdict.type === "retry") started.loop.wake();
        if (verdict.type === "delivered" || verdict.type === "dead")
          world.live = world.live.filter((event) => event.id !== id);
      },
      onSend({ event }) {
        sent.add(event.id);
        if (world.informed === nth) expectTheMostUrgent(event);
      },
    },
  );

  function expectTheMostUrgent(event: OutboxEvent): void {
    const { live, tried, resting } = world;
    const precedences = precedencesOf(live, tried);
    const open = started.sender.capacity().lanes.map(({ endpoint }) => endpoint);
    const isTaken = (id: string) =>
      sent.has(id) || world.claimed.some((each) => each !== claimed && each.has(id));
    if (!isHead(event, live)) world.wrong.push(`${event.kind} ${event.id} is not its visitor's next`);
    for (const other of live) {
      if (other.id === event.id || !open.includes(endpointOf(other)) || resting.has(other.id)) continue;
      if (isTaken(other.id) || !isHead(other, live)) continue;
      if ((precedences.get(event.id) ?? 0) < (precedences.get(other.id) ?? 0))
        world.wrong.push(`${event.kind} ${event.id} goes before ${other.kind} ${other.id}`);
    }
  }

  return { disk, claimed, started };
}

type Process = ReturnType<typeof startProcess>;

function isHead(event: OutboxEvent, live: readonly OutboxEvent[]): boolean {
  const place = live.findIndex(({ id }) => id === event.id);
  return place >= 0 && !live.slice(0, place).some((earlier) => sharesAnId(earlier, event));
}

function sharesAnId({ data: one }: OutboxEvent, { data: other }: OutboxEvent): boolean {
  const shares = (name: "clickId" | "sessionId") => one[name] !== undefined && one[name] === other[name];
  return shares("clickId") || shares("sessionId");
}

const STEPS = claimStepsOf(ENDPOINTS.map((endpoint) => ({ endpoint, limit: 1 }))).map(
  ({ which, urgency }) => `${which} ${urgency}`,
);

/**
 * The precedence of each live event, by id: the highest goes first. `live` is in the order of
 * arrival.
 */
function precedencesOf(live: readonly OutboxEvent[], tried: ReadonlySet<string>): Map<string, number> {
  const all = urgenciesOf(live.map((event) => ({ event })));
  return new Map(
    all.map(([{ event }, urgency]) => [
      event.id,
      -STEPS.indexOf(`${tried.has(event.id) ? "rested" : "untried"} ${urgency}`),
    ]),
  );
}

const anId = fc.option(fc.integer({ min: 0, max: 7 }), { freq: 2 });
const anEvent = fc.record({
  kind: fc.constantFrom<EventKind>("click", "click", "click", "registration", "payment"),
  clickId: anId,
  sessionId: anId,
  number: fc.constantFrom(1, 1, 1, 12),
});
const aStep = fc.oneof(
  { weight: 3, arbitrary: fc.record({ what: fc.constant("append" as const), event: anEvent }) },
  {
    weight: 2,
    arbitrary: fc.record({
      what: fc.constant("open" as const),
      limit: fc.integer({ min: 1, max: 6 }),
      lanes: fc.uniqueArray(
        fc.record({
          endpoint: fc.constantFrom<Endpoint>(...ENDPOINTS),
          limit: fc.integer({ min: 1, max: 4 }),
        }),
        { selector: ({ endpoint }) => endpoint, minLength: 1 },
      ),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      what: fc.constant("end" as const),
      number: fc.integer({ min: 1, max: 4 }),
      verdict: fc.constantFrom("delivered", "delivered", "delivered", "dead", "release", "retry", "rest"),
      gatherMs: fc.constantFrom(0, 2, 10),
    }),
  },
);

type Step = typeof aStep extends fc.Arbitrary<infer T> ? T : never;

const append = (kind: EventKind, clickId: number | null = null): [number, Step] => [
  0,
  { what: "append", event: { kind, clickId, sessionId: null, number: 1 } },
];
const open = (limit: number, lanes: Partial<Record<Endpoint, number>>): [number, Step] => [
  0,
  {
    what: "open",
    limit,
    lanes: Object.entries(lanes).map(([endpoint, slots]) => ({
      endpoint: endpoint as Endpoint,
      limit: slots,
    })),
  },
];
const end = (verdict: (Step & { what: "end" })["verdict"]): [number, Step] => [
  0,
  { what: "end", number: 1, verdict, gatherMs: 10 },
];

/** A payment that was tried, and a registration that a payment waits for: one slot for both. */
const RESTED_BESIDE_RAISED = [
  open(1, { "lead/payment": 1 }),
  append("registration", 5),
  append("payment", 5),
  append("payment"),
  open(1, { "lead/payment": 1, registration: 1 }),
  end("retry"),
];
/** A prefetched click, one that is in the store, and a registration that was tried. */
const CLICK_LEFT_IN_THE_STORE = [
  open(2, { "lead/registration": 2 }),
  append("registration"),
  append("registration"),
  append("click"),
  open(2, { "lead/registration": 1, click: 2 }),
  end("retry"),
  append("click"),
  append("registration"),
  end("delivered"),
  end("delivered"),
];

test.each([1, 2])(
  "%d processes: whatever is prefetched, no event is sent while a more urgent one has a slot",
  async (processes) => {
    const aSchedule = fc.array(fc.tuple(fc.nat(processes - 1), aStep), { minLength: 10, maxLength: 60 });
    await fc.assert(
      fc.asyncProperty(aSchedule, async (schedule) => {
        const directory = scratchDirectory();
        const world: World = {
          live: [],
          tried: new Set(),
          resting: new Set(),
          informed: -1,
          wrong: [],
          claimed: [],
        };
        const all: Process[] = [];
        for (let nth = 0; nth < processes; nth++) all.push(startProcess(directory, nth, world));
        for (const { started } of all) started.loop.start(started.sender);
        for (const [nth, step] of schedule) {
          const { loop, slots, sender, clock, end } = (all[nth] as Process).started;
          if (step.what === "append") {
            const { kind, clickId, sessionId, number } = step.event;
            const requests = Array.from({ length: number }, (_, n): Request => {
              const event = sample(kind, {
                ...(clickId !== null && { clickId: `click-${clickId}-${n}` }),
                ...(sessionId !== null && { sessionId: `session-${sessionId}-${n}` }),
              });
              return { type: "append", event };
            });
            loop.take({ requests, generation: 0 });
          } else if (step.what === "open") {
            slots.limit = step.limit;
            slots.lanes = ENDPOINTS.flatMap((name) => step.lanes.filter(({ endpoint }) => endpoint === name));
            if (sender.capacity().limit > 0) loop.wake();
          } else {
            await end(step.number, { verdict: VERDICTS[step.verdict] as Verdict });
            await clock.pass(step.gatherMs);
          }
          await endOfTick();
          await endOfTick();
          expect(world.wrong).toEqual([]);
        }
        for (const { disk } of all) disk.close();
      }),
      { numRuns: 60, examples: [[RESTED_BESIDE_RAISED], [CLICK_LEFT_IN_THE_STORE]] },
    );
  },
  120_000,
);
