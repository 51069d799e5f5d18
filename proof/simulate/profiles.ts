import { ENDPOINTS } from "../../src/service/endpoints.js";
import { DISK_FAULTS } from "./disk.js";
import { type Fault, OF_A_VISITOR, OF_AN_ENDPOINT, OF_THE_ORIGIN, SILENCE } from "./faults.js";
import { SERVER_FAULTS } from "./host.js";
import { chance, Dice } from "./random.js";
import type { OutboxName, Profile, Schedule, Step } from "./schedule.js";
import { Writer } from "./writer.js";

const SECOND_MS = 1_000;
const HOUR_MS = 3_600_000;
/** Many attempts outlast it: it has to be renewed. */
const SHORT_LEASE_MS = 2 * SECOND_MS;

/** The schedule of a seed. */
export function scheduleOf(
  seed: number,
  { programs, outbox: given }: Pick<Schedule, "programs"> & { outbox?: Schedule["outbox"] | undefined },
): Schedule {
  const dice = new Dice(seed);
  const profile: Profile = dice.happens(0.7) ? "chaos" : dice.one(["outage", "poison", "calm", "crowd"]);
  const outbox = given ?? (dice.happens(0.5) ? "memory" : "disk");
  const processes = outbox === "memory" ? 1 : dice.whole(1, 3);
  const base = {
    seed,
    profile,
    outbox,
    processes,
    programs: Math.min(processes, dice.happens(0.4) ? programs : 1),
    repeated: dice.one(["conflict", "yes", "again"] as const),
    maxAgeMs: profile === "chaos" && dice.happens(0.2) ? 60 * SECOND_MS : 72 * HOUR_MS,
    // Not by the dice: all else that a seed does would change.
    ...(profile === "chaos" &&
      outbox !== "memory" &&
      chance(seed, "lease") < 0.5 && { leaseMs: SHORT_LEASE_MS }),
    ...(profile === "chaos" &&
      dice.happens(0.2) && {
        bounds: { maxEvents: 25, maxBytes: 40_000, maxDeadLetters: dice.one([3, 1_000]) },
      }),
  };
  const lengthMs = dice.span(2 * SECOND_MS, 90 * SECOND_MS);
  const write = { chaos, outage, poison, calm, crowd }[profile];
  const steps = write(new Writer(dice, base.processes, lengthMs), base);
  return { ...base, steps: [...steps].sort((one, other) => one.at - other.at) };
}

const isSql = (outbox: OutboxName): boolean => outbox === "mysql" || outbox === "postgres";

function chaos(writer: Writer, { outbox, leaseMs }: Pick<Schedule, "outbox" | "leaseMs">): Step[] {
  const { dice, at, process } = writer;
  const steps = writer.reports(dice.span(2, 40));
  if (leaseMs) {
    steps.push({ at: 0, do: "fail", name: "outlasts leases", fault: { behaviour: "takes 9 s", share: 0.3 } });
  }
  const some = (...some: Parameters<Writer["some"]>) => steps.push(...writer.some(...some));
  some(3, (nth) => {
    const name = `fault ${nth}`;
    const [from, to] = writer.during(SECOND_MS / 2, 60 * SECOND_MS);
    return [
      { at: from, do: "fail", name, fault: faultFrom(dice) },
      { at: to, do: "heal", name },
    ];
  });
  some(5, () => [{ at: at(), do: "report", process: process(), what: dice.one(writer.happened) }]);
  some(2, () => {
    const [from, to] = writer.during(1, 40 * SECOND_MS);
    const who = process();
    return [
      { at: from, do: "crash", process: who },
      { at: to, do: "start", process: who },
    ];
  });
  if (outbox === "disk")
    some(2, () => {
      const [from, to] = writer.during(1, 40 * SECOND_MS);
      const who = process();
      return [
        { at: from, do: "report", process: who, what: writer.happening(), isKilled: true },
        { at: to, do: "start", process: who },
      ];
    });
  some(1, () => [{ at: at(), do: "stall", process: process(), ms: dice.span(100, 60 * SECOND_MS) }]);
  if (!isSql(outbox)) some(1, () => [{ at: at(), do: "lose thread", process: process() }]);
  some(1, () => {
    const who = process();
    const [from, to] = writer.during(SECOND_MS, 20 * SECOND_MS);
    return [
      { at: from, do: "close", process: who, ms: dice.one([0, 500, 5_000]) },
      { at: to, do: "start", process: who },
    ];
  });
  if (isSql(outbox)) steps.push(...faultsOfAServer(writer));
  else
    some(2, () => {
      const who = process();
      const [from, to] = writer.during(10, 40 * SECOND_MS);
      return [
        { at: from, do: "disk", process: who, fault: dice.one(DISK_FAULTS) },
        { at: to, do: "disk", process: who, fault: undefined },
      ];
    });
  some(1, () => [
    { at: at(), do: "set clock", ms: dice.one([-HOUR_MS, -5_000, 5_000, HOUR_MS, 12 * HOUR_MS]) },
  ]);
  some(3, () => [{ at: at(), do: "retry", process: process(), nth: dice.whole(0, 3) }]);
  some(1, () => [{ at: at(), do: "retry all", process: process(), unconfirmedToo: dice.happens(0.5) }]);
  some(1, () => [{ at: at(), do: "discard", process: process(), nth: dice.whole(0, 3) }]);
  some(1, () => [{ at: at(), do: "flush", process: process(), ms: dice.one([0, 100, 5_000]) }]);
  if (dice.happens(0.1)) steps.push(flood(writer));
  some(3, () => [{ at: at(), do: "report", process: process(), what: writer.scheduled() }]);
  some(3, () => [{ at: at(), do: "cancel", process: process(), nth: dice.whole(0, 2) }]);
  // In the middle of an attempt, a process loses a short lease if its storage keeps it from renewing, or if
  // another one starts just after the clock was set ahead: that one knows no earlier time.
  const ends = (step: Step) => ["server", "disk", "set clock"].includes(step.do);
  return leaseMs ? steps.filter((step) => !ends(step)) : steps;
}

/** What a database server does to its clients, and what else happens in the database. */
function faultsOfAServer(writer: Writer): Step[] {
  const { dice, at, process } = writer;
  const faults = writer.some(3, () => {
    const who = process();
    const [from, to] = writer.during(10, 60 * SECOND_MS);
    return [
      { at: from, do: "server", process: who, fault: dice.one(SERVER_FAULTS) },
      { at: to, do: "server", process: who, fault: undefined },
    ];
  });
  const transactions = writer.some(3, () => {
    const whats = Array.from({ length: dice.whole(1, 3) }, () =>
      dice.happens(0.7) ? writer.happening() : dice.one(writer.happened),
    );
    const ms = dice.span(10, 90 * SECOND_MS);
    return [{ at: at(), do: "transaction", process: process(), whats, ms, commits: dice.happens(0.7) }];
  });
  return [...faults, ...transactions];
}

function faultFrom(dice: Dice): Fault {
  if (dice.happens(0.2)) return { behaviour: dice.one(Object.keys(OF_THE_ORIGIN)) };
  const share = dice.happens(0.3) ? dice.one([0.1, 0.3, 0.5]) : undefined;
  if (dice.happens(0.3)) {
    return { behaviour: dice.one(Object.keys(OF_A_VISITOR)), visitors: dice.whole(0, 3), share };
  }
  const endpoint = dice.happens(0.5) ? dice.one(ENDPOINTS) : undefined;
  return { behaviour: dice.one(Object.keys(OF_AN_ENDPOINT)), endpoint, share };
}

function flood(writer: Writer): Step {
  const events = writer.dice.whole(30, 150);
  return { at: writer.at(), do: "flood", process: writer.process(), from: writer.numbers(events), events };
}

/** The whole service fails in one way, for a while. */
function outage(writer: Writer): Step[] {
  const { dice, lengthMs } = writer;
  const behaviour = dice.one([
    "refuses connections",
    "answers 500",
    "answers 503",
    "answers 401",
    "answers 404",
    "answers 429 with Retry-After",
  ]);
  const from = dice.whole(0, lengthMs / 4);
  return [
    ...writer.reports(dice.span(2, 40)),
    { at: from, do: "fail", name: "outage", fault: { behaviour } },
    { at: lengthMs, do: "heal", name: "outage" },
  ];
}

/** The service does not take some visitors' events, as long as it lasts, and takes the others'. */
function poison(writer: Writer): Step[] {
  const { dice, lengthMs } = writer;
  const statuses = ["302", "401", "403", "404", "408", "429", "500", "502", "503", "504"];
  const behaviour = dice.one([...statuses.map((status) => `answers ${status}`), "resets"]);
  const steps: Step[] = [{ at: 0, do: "fail", name: "poison", fault: { behaviour, visitors: 1 } }];
  for (let at = 0; at < lengthMs; at += 1_000) {
    const isPoison = at === 0 || at % 16_000 === 0;
    // No two events of a visitor: one that waits for its own visitor's shows nothing here.
    const visitor = 4 * writer.number + (isPoison ? 1 : 2);
    const kind = writer.kind();
    steps.push({ at, do: "report", process: writer.process(), what: writer.happening(kind, visitor) });
  }
  return steps;
}

/** The service is well; many clicks come at once, and payments after them. */
function calm(writer: Writer): Step[] {
  const { dice } = writer;
  const steps = writer.reports(dice.span(2, 30));
  if (dice.happens(0.6)) steps.push(flood(writer));
  return steps;
}

/** The service refuses strangers' clicks or sign-ups, 16 a second. Some visitors also pay. */
function crowd(writer: Writer): Step[] {
  const { dice, process } = writer;
  const lengthMs = Math.min(writer.lengthMs, 12 * SECOND_MS);
  const statuses = ["401", "403", "404", "429", "500", "503"];
  const behaviour = dice.one([...statuses.map((status) => `answers ${status}`), SILENCE]);
  const strangers = { kind: dice.one(["click", "registration"] as const), everyMs: SECOND_MS / 16 };
  const events = Math.ceil(lengthMs / strangers.everyMs);
  const steps: Step[] = [
    { at: 0, do: "fail", name: "crowd", fault: { behaviour, visitors: 1 } },
    { at: 0, do: "flood", process: process(), from: writer.numbers(events), events, strangers },
  ];
  for (let begins = dice.whole(0, SECOND_MS); begins < lengthMs; begins += 2 * SECOND_MS) {
    const visitor = 4 * writer.number + 2;
    const ids = { clickId: `click-${visitor}`, sessionId: `session-${visitor}` };
    let at = begins;
    for (const kind of ["click", "registration", "payment"] as const) {
      const what = { number: writer.numbers(1), kind, visitor, ...ids };
      steps.push({ at, do: "report", process: process(), what });
      at += dice.one([1, 250, SECOND_MS]);
    }
  }
  return steps;
}
