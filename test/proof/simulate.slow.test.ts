import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "esbuild";
import { beforeAll, describe, expect, it } from "vitest";
import { pageScripts } from "../../inline-plugin.js";
import type { Options, Sabotage, Schedule } from "../../proof/simulate/main.js";
import { virtualModules } from "../../proof/simulate/virtual-modules.js";
import { notBeforeOf, type OutboxEvent } from "../../src/conversion/events.js";
import { RESTING, rankInSql } from "../../src/outbox/queue/ranks.js";
import { DONE, QUEUED } from "../../src/outbox/queue/rows.js";
import { rawText } from "../../tsup.config.js";
import { scratchDirectory } from "../helpers/scratch.js";

const ROOT = resolve(import.meta.dirname, "../..");
const HOUR_MS = 3_600_000;

let simulator: typeof import("../../proof/simulate/main.js");

beforeAll(async () => {
  const outfile = join(ROOT, "node_modules/.cache/proof/simulate-test.mjs");
  await build({
    entryPoints: [join(ROOT, "proof/simulate/main.ts")],
    outfile,
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node20",
    packages: "external",
    plugins: [rawText, pageScripts, ...virtualModules],
  });
  simulator = await import(pathToFileURL(outfile).href);
});

const MANY: Options = { seed: 1, schedules: 100, programs: 2 };

/** Runs steps on a disk in one process, and expects that they break no promise. Resolves to what happened. */
async function traceOf(seed: number, steps: Schedule["steps"]): Promise<readonly string[]> {
  const options = { directory: scratchDirectory(), keepsTrace: true };
  const { broken, trace = [] } = await simulator.run(scheduleOfOne(seed, "disk", steps), options);
  expect(broken).toBeUndefined();
  return trace;
}

describe("the simulator", () => {
  it("does the same for the same seed", async () => {
    const directory = scratchDirectory();
    for (const seed of [1, 4, 7, 14]) {
      const schedule = simulator.scheduleOf(seed, MANY);
      expect(simulator.scheduleOf(seed, MANY)).toEqual(schedule);
      const one = await simulator.run(schedule, { directory, keepsTrace: true });
      const other = await simulator.run(schedule, { directory, keepsTrace: true });
      expect(other.trace).toEqual(one.trace);
      expect(other.digest).toBe(one.digest);
      expect(one.events).toBeGreaterThan(10);
    }
  });

  it("frees the lock of an ended thread, and lets an event go first that the thread stored without a receipt", async () => {
    const registration = { number: 2, kind: "registration", visitor: 1, clickId: "click-1" } as const;
    const click = { number: 1, kind: "click", visitor: 1, clickId: "click-1" } as const;
    const trace = await traceOf(6396, [
      { at: 4_818, do: "disk", process: 0, fault: "lost" },
      { at: 5_657, do: "report", process: 0, what: registration },
      { at: 6_482, do: "close", process: 0, ms: 0 },
      { at: 6_932, do: "start", process: 0 },
      { at: 13_948, do: "report", process: 0, what: click },
      { at: 14_072, do: "report", process: 0, what: registration },
    ]);
    const sent = trace.filter((line) => line.includes(" sends "));
    expect(sent).toHaveLength(2);
    expect(sent[0]).toContain("registration 2");
    // Its lease ends much later.
    expect(Number.parseFloat(sent[0] ?? "")).toBeLessThan(14_072 + 5_000);
  });

  it("lets an attempt continue that an ended thread had claimed", async () => {
    const registration = { number: 9, kind: "registration", visitor: 2, clickId: "click-2" } as const;
    const payment = { number: 10, kind: "payment", visitor: 3, sessionId: "session-3" } as const;
    const trace = await traceOf(5000079, [
      { at: 3_000, do: "fail", name: "fault", fault: { behaviour: "is silent", endpoint: "registration" } },
      { at: 3_100, do: "fail", name: "slow", fault: { behaviour: "takes 2 s", endpoint: "lead/payment" } },
      { at: 4_655, do: "report", process: 0, what: registration },
      { at: 5_500, do: "report", process: 0, what: payment },
      { at: 5_857, do: "lose thread", process: 0 },
      { at: 20_000, do: "heal", name: "fault" },
    ]);
    const told = trace.filter((line) => line.includes("tells that payment 10"));
    expect(told).toEqual([expect.stringContaining("is delivered")]);
  });

  it("does not take an outbox for empty that could not open its file", async () => {
    const trace = await traceOf(1729, [
      { at: 0, do: "report", process: 0, what: { ...scheduled, waitsMs: 60_000 } },
      { at: 1_000, do: "disk", process: 0, fault: "full" },
      { at: 2_000, do: "crash", process: 0 },
      { at: 3_000, do: "start", process: 0 },
    ]);
    expect(trace.filter((line) => line.includes("the service takes payment 1"))).toHaveLength(1);
  });

  it.each<[string, string, Options["outbox"], Sabotage]>([
    ["takes an event for delivered that was refused", "what is delivered was taken", undefined, gullible],
    [
      "forgets who goes before whom",
      "a visitor's events go",
      "disk",
      atEvery(
        5,
        `update queues set head = (select max(e.seq) from events e
           where e.visitor = queues.visitor and e.state = ${QUEUED} and e.endpoint = queues.endpoint)
         where turn < ${RESTING}`,
      ),
    ],
    [
      "leaves the spool of a killed process unread",
      "no kill loses what was reported",
      "disk",
      { disk: ({ spools }) => Object.assign(spools, { set: () => spools }) },
    ],
    ["counts one too few", "stats() adds up", "memory", countingTooFew],
    ["lets a payment rest before its first attempt", "payments go first", "memory", resting],
    [
      "forgets what a payment waits for",
      "no stranger delays a payment",
      "disk",
      atEvery(
        1,
        `update queues set urgency = ${KIND_OF_HEAD}, turn = ${rankInSql(KIND_OF_HEAD, "tried", "endpoint")}
         where turn < ${RESTING}`,
      ),
    ],
  ])(
    "finds a tracker that %s",
    async (_name, promise, outbox, sabotage) => {
      const { findings } = await simulator.simulate({ ...MANY, outbox, sabotage, enough: 1, shrinks: false });
      expect(findings.map((found) => found.promise)).toEqual([expect.stringContaining(promise)]);
      // One that runs out of time would go on beside the next.
    },
    300_000,
  );

  it("finds a tracker that forgets the ids of what was delivered, by what it takes for new and by what it sends again", async () => {
    const sabotage = atEvery(10, `delete from events where state = ${DONE}`);
    const { findings } = await simulator.simulate({ ...MANY, outbox: "disk", sabotage, shrinks: false });
    const broken = findings.map((found) => found.promise);
    for (const promise of ["a duplicate is recognised", "what has ended is not sent"]) {
      expect(broken).toContain(promise);
    }
  }, 300_000);

  it("shrinks the schedule that finds it", async () => {
    const { findings } = await simulator.simulate({ ...MANY, sabotage: gullible, enough: 1 });
    const { seed, schedule } = findings[0] as (typeof findings)[number];
    const whole = simulator.scheduleOf(seed, MANY);
    expect(whole.steps.length).toBeGreaterThan(8);
    expect(schedule.steps.length).toBeLessThanOrEqual(8);
    expect(whole.steps).toEqual(expect.arrayContaining([...schedule.steps]));
  });

  describe.each(["disk", "mysql", "postgres"] as const)("on %s", (outbox) => {
    let server: Awaited<ReturnType<typeof simulator.startServer>>;
    beforeAll(async () => {
      server = await simulator.startServer(outbox);
      return () => server?.destroy();
    });

    it.each<[string, string, Sabotage, Schedule["steps"]]>([
      [
        "sends a payment before its time",
        "no payment is sent before its time",
        tooEarly,
        [
          { at: 10, do: "set clock", ms: 12 * HOUR_MS },
          { at: 20, do: "report", process: 0, what: scheduled },
        ],
      ],
      [
        "sends a payment that was cancelled",
        "what has ended is not sent",
        withoutCancelling,
        [
          { at: 20, do: "report", process: 0, what: scheduled },
          { at: 1_000, do: "cancel", process: 0, nth: 0 },
        ],
      ],
      [
        "sends a held payment again",
        "a payment that may have been taken is held",
        sendingAgain,
        [
          { at: 10, do: "fail", name: "fault", fault: { behaviour: "resets, and has taken it" } },
          { at: 20, do: "report", process: 0, what: { ...scheduled, waitsMs: undefined } },
          { at: 20_000, do: "heal", name: "fault" },
        ],
      ],
    ])("finds a tracker that %s, and only that one", async (_name, promise, sabotage, steps) => {
      const schedule = scheduleOfOne(1, outbox, steps);
      const options = { directory: scratchDirectory(), server };
      expect((await simulator.run(schedule, options)).broken).toBeUndefined();
      expect((await simulator.run(schedule, { ...options, sabotage })).broken?.promise).toBe(promise);
    });
  });
});

const KIND_OF_HEAD = "(select e.kind from events e where e.seq = queues.head)";

/** A schedule of one process. */
const scheduleOfOne = (seed: number, outbox: Schedule["outbox"], steps: Schedule["steps"]): Schedule => ({
  ...{ seed, profile: "chaos", outbox, processes: 1, programs: 1, repeated: "conflict" },
  ...{ maxAgeMs: 72 * HOUR_MS, steps },
});

const scheduled = {
  number: 1,
  kind: "payment",
  visitor: 3,
  sessionId: "session-3",
  waitsMs: 10_000,
} as const;

/** A tracker that sends a payment again that is unconfirmed. */
const sendingAgain = verdicts((verdict, { history }) =>
  verdict.type === "dead" && verdict.reason === "unconfirmed"
    ? { type: "retry", inMs: 1_000, history }
    : verdict,
);

/** A tracker that takes an event for delivered that was refused. */
const gullible = verdicts((verdict) => (verdict.type === "retry" ? { type: "delivered" } : verdict));

/** A tracker that takes two seconds off a `notBefore`. */
const tooEarly: Sabotage = {
  process({ outbox }) {
    const { add } = outbox;
    outbox.add = (event, options) => {
      const notBefore = notBeforeOf(event);
      if (notBefore === undefined) return add(event, options);
      return add({ ...event, data: { ...event.data, notBefore: notBefore - 2_000 } } as OutboxEvent, options);
    };
  },
};

/** A tracker that lets a payment rest before its first attempt. */
const resting: Sabotage = {
  process({ delivery }) {
    const { deliver } = delivery;
    const rested = new Set<string>();
    delivery.deliver = async (claim) => {
      const { event, history } = claim;
      if (event.kind !== "payment" || rested.has(event.id)) return await deliver(claim);
      rested.add(event.id);
      return { type: "retry", inMs: 3_000, history };
    };
  },
};

const countingTooFew: Sabotage = {
  process({ outbox }) {
    const { counts } = outbox;
    outbox.counts = () => ({ ...counts(), queued: Math.max(0, counts().queued - 1) });
  },
};

/** A tracker that says of a scheduled payment that it is cancelled, and leaves it as it is. */
const withoutCancelling: Sabotage = {
  process({ outbox }) {
    outbox.cancel = async () => "cancelled";
  },
};

type Deliver = import("../../src/outbox/outbox.js").Deliver["deliver"];
type Verdict = Awaited<ReturnType<Deliver>>;

/** A tracker that makes another verdict of each. */
function verdicts(change: (verdict: Verdict, claim: Parameters<Deliver>[0]) => Verdict): Sabotage {
  return {
    process({ delivery }) {
      const { deliver } = delivery;
      delivery.deliver = async (claim) => change(await deliver(claim), claim);
    },
  };
}

/** A tracker whose file is changed after each so many transactions. */
function atEvery(many: number, sql: string): Sabotage {
  return {
    disk(disk) {
      disk.afterCommit = (db, nth) => {
        if (nth % many === 0) db.exec(sql);
      };
    },
  };
}
