/**
 * The promises in numbers of docs/delivery.md, as far as a minute can show them: real sockets, real
 * time, each outbox. The tests show the same, and the hours that are missing here, in virtual time.
 */
import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { type Attribution, type EventKind, memoryOutbox, type Outbox } from "express-affiliate";
import { diskOutbox } from "express-affiliate/disk";
import { programsOfPostgres } from "../../test/helpers/cluster.js";
import { programOfMariaDb } from "../../test/helpers/mariadb.js";
import { open as openOn, startServer } from "../outboxes/server.js";
import { scratch } from "../shared/scratch.js";
import { answer, type Conduct, startService } from "../shared/service.js";
import { keyOf, trackerOf, trackNth } from "../shared/tracker.js";
import { inTurn } from "../shared/turn.js";
import { chance } from "../simulate/random.js";
import { reset, says, silence } from "./service.js";

/** One tracker, and its service, whose behaviour the proof changes. */
async function open({ outbox, dispose }: Creation) {
  const settings = {
    /** How it fails for this visitor at this path; `undefined`: it takes the event. */
    fault: (_visitor: string, _path: string): Conduct | undefined => undefined,
    answerMs: 20,
  };
  const service = await startService((res, take, asked) => {
    const misbehave = settings.fault(asked.visitor, asked.path);
    if (misbehave) return misbehave(res, take, asked);
    take();
    setTimeout(answer, settings.answerMs, res);
  });
  const tracker = trackerOf(service.url, { outbox });
  await outbox.look?.();
  const addedAt = new Map<string, number>();
  let unsettled = 0;
  let number = 0;
  // By the notices, not by stats(): what an SQL server counts while others write is not exact.
  tracker.on("delivered", () => unsettled--);
  tracker.on("dead", () => unsettled--);

  async function track(
    kind: EventKind,
    visitor = `visitor-${number}`,
    attribution?: Attribution,
  ): Promise<string> {
    const receipt = await trackNth(tracker, kind, visitor, ++number, attribution);
    if (receipt.outcome !== "queued") throw new Error(`an event was ${receipt.outcome}`);
    const key = keyOf(receipt.id);
    addedAt.set(key, performance.now());
    unsettled++;
    return key;
  }

  return {
    service,
    settings,
    tracker,
    track,
    /** Tracks so many events, of these kinds in turn, one every so many milliseconds. */
    async trackMany(events: number, everyMs: number, ...kinds: readonly EventKind[]): Promise<void> {
      for (let nth = 0; nth < events; nth++) {
        await track(kinds[nth % kinds.length] as EventKind);
        await sleep(everyMs);
      }
    },
    /** The longest wait of these, in milliseconds; infinite if one was not taken. */
    longest(keys: readonly string[]): number {
      const takenAt = new Map(service.arrivals.toReversed().map(({ key, at }) => [key, at]));
      const waits = keys.map(
        (key) => (takenAt.get(key) ?? Number.POSITIVE_INFINITY) - (addedAt.get(key) as number),
      );
      return Math.max(...waits);
    },
    async settled(timeoutMs: number): Promise<number> {
      const began = performance.now();
      while (unsettled > 0 && performance.now() - began < timeoutMs) await sleep(5);
      return unsettled > 0 ? Number.POSITIVE_INFINITY : performance.now() - began;
    },
    async close(): Promise<void> {
      await tracker.close({ timeoutMs: 1_000 });
      await service.goAway();
      await dispose?.();
    },
  };
}

type World = Awaited<ReturnType<typeof open>>;

interface Promised {
  readonly name: string;
  /** What was measured, in words, and whether that was promised. */
  run(world: World): Promise<readonly [measured: string, isKept: boolean]>;
}

const ms = (value: number) => (Number.isFinite(value) ? `${Math.round(value)} ms` : "never");

function poison(name: string, misbehave: Conduct, longestMs: number): Promised {
  return {
    name: `gives 20 strangers' clicks ${name}`,
    async run({ settings, track, longest }) {
      settings.fault = (visitor) => (visitor.startsWith("poison") ? misbehave : undefined);
      for (let n = 0; n < 20; n++) await track("click", `poison-${n}`);
      const [clicks, payments]: [string[], string[]] = [[], []];
      for (let n = 0; n < 20; n++) {
        clicks.push(await track("click"));
        payments.push(await track("payment"));
        await sleep(500);
      }
      await sleep(longestMs);
      const [click, payment] = [longest(clicks), longest(payments)];
      return [`others' clicks ${ms(click)}, payments ${ms(payment)}`, click <= longestMs && payment <= 1_000];
    },
  };
}

function behindGateway(status: number): Promised {
  return {
    name: `is down for 10 s behind a gateway that answers ${status}`,
    async run({ settings, trackMany, settled, tracker }) {
      settings.fault = () => says(status);
      await trackMany(100, 100, "click", "payment");
      settings.fault = () => undefined;
      const tookMs = await settled(20_000);
      const { delivered, dead } = tracker.stats();
      return [
        `${delivered} events within ${ms(tookMs)}; ${dead.unconfirmed} unconfirmed`,
        tookMs <= 2_000 + 100 * 10 && dead.unconfirmed <= 8,
      ];
    },
  };
}

/** Those of one outbox run together. */
const together: readonly Promised[] = [
  ...[302, 401, 403, 404, 429, 500, 502, 504].map((status) => poison(`${status}`, says(status), 5_000)),
  poison("a reset", reset, 5_000),
  poison("silence", silence, 15_000),
  {
    name: "refuses connections for 10 s",
    async run({ service, trackMany, settled, tracker }) {
      await service.goAway();
      await trackMany(100, 100, "click", "payment");
      await service.comeBack();
      const tookMs = await settled(20_000);
      return [`${tracker.stats().delivered} events within ${ms(tookMs)}`, tookMs <= 2_000 + 100 * 10];
    },
  },
  {
    name: "answers 500 for 10 s",
    async run({ service, settings, track, trackMany, settled }) {
      settings.fault = () => says(500);
      await track("payment");
      await sleep(2_000);
      const before = service.requests;
      await trackMany(80, 100, "click", "payment");
      const late = service.requests - before;
      settings.fault = () => undefined;
      const tookMs = await settled(20_000);
      return [
        `80 events within ${ms(tookMs)}; ${late} requests in 8 s`,
        tookMs <= 2_000 + 80 * 10 && late <= 40,
      ];
    },
  },
  ...[502, 504].map((status) => behindGateway(status)),
  {
    name: "is silent for 5 s",
    async run({ settings, trackMany, settled }) {
      settings.fault = () => silence;
      await trackMany(50, 100, "click", "registration");
      settings.fault = () => undefined;
      const tookMs = await settled(30_000);
      return [`50 events within ${ms(tookMs)}`, tookMs <= 12_000 + 50 * 10];
    },
  },
  {
    name: "swallows payments for 30 s, answers the rest",
    async run({ settings, track, longest, tracker }) {
      settings.fault = (_visitor, path) => (path.endsWith("/lead/payment") ? silence : undefined);
      const clicks: string[] = [];
      for (let n = 0; n < 60; n++) {
        await track("payment");
        clicks.push(await track("click"));
        await sleep(500);
      }
      const { unconfirmed } = tracker.stats().dead;
      const click = longest(clicks.slice(0, -2));
      return [`${unconfirmed} unconfirmed; clicks ${ms(click)}`, unconfirmed <= 9 && click <= 1_000];
    },
  },
];

/** Strangers come for 10 s, none of whom pays; one visitor a second clicks, signs up and pays. */
function flood(
  does: string,
  misbehave: Conduct,
  { rate, kinds, withinMs }: { rate: number; kinds: readonly EventKind[]; withinMs: number },
): Promised {
  return {
    name: `${does} ${rate} strangers' ${kinds.join(" and ")}s a second`,
    async run({ settings, track, longest, tracker }) {
      settings.fault = (visitor) => (visitor.startsWith("poison") ? misbehave : undefined);
      const payers: string[] = [];
      for (let n = 0; n < 10 * rate; n++) {
        const visitor = `poison-${n}`;
        for (const kind of kinds) await track(kind, visitor, { clickId: visitor, sessionId: visitor });
        if (n % rate === Math.floor(rate / 2)) {
          for (const kind of ["click", "registration", "payment"] as const)
            payers.push(await track(kind, `payer-${n}`));
        }
        await sleep(1_000 / rate);
      }
      await sleep(withinMs);
      const slowest = longest(payers);
      const later = await track("click");
      await sleep(10_000);
      const afterwards = longest([later]);
      return [
        `clicks, sign-ups and payments ${ms(slowest)}; a click after it ${ms(afterwards)}; ${tracker.stats().queued} wait`,
        slowest <= withinMs && (withinMs > 6_000 || afterwards <= 10_000),
      ];
    },
  };
}

/** Those of two outboxes run together. */
const floods: readonly Promised[] = [
  flood("refuses (404)", says(404), { rate: 50, kinds: ["click"], withinMs: 6_000 }),
  flood("fails (500)", says(500), { rate: 50, kinds: ["click"], withinMs: 6_000 }),
  flood("is silent to", silence, { rate: 15, kinds: ["click"], withinMs: 16_000 }),
  flood("refuses (404)", says(404), { rate: 50, kinds: ["registration"], withinMs: 6_000 }),
  flood("fails (500)", says(500), { rate: 15, kinds: ["click", "registration"], withinMs: 6_000 }),
];

/** This waits for most of its time: that of every outbox begins with the proof. */
const patient: readonly Promised[] = [
  {
    name: "asks for a minute's pause in answer to strangers' clicks",
    async run({ settings, track, longest }) {
      const times: number[] = [];
      settings.fault = (visitor) => {
        if (!visitor.startsWith("poison")) return undefined;
        times.push(performance.now());
        return says(429, { "retry-after": "60" });
      };
      const payers: string[] = [];
      for (let n = 0; n < 200; n++) {
        await track("click", `poison-${n}`);
        if (n % 20 === 10)
          for (const kind of ["click", "payment"] as const) payers.push(await track(kind, `payer-${n}`));
        await sleep(50);
      }
      await sleep(54_000);
      const slowest = longest(payers);
      return [
        `clicks and payments ${ms(slowest)}; ${times.length} strangers' clicks sent`,
        slowest <= 62_000,
      ];
    },
  },
];

/**
 * How many attempts of each event fail before one passes, if this share of all attempts fails: as
 * many events fail once, twice and so on as is to be expected, in an order that is always the same.
 * With random failures, the rests of one event in a few dozen runs would break the promise.
 */
function failuresOf(events: number, share: number): number[] {
  const failures: number[] = [];
  const numbers = Array.from({ length: events }, (_, nth) => nth);
  const shuffled = numbers.sort((one, other) => chance("fails", one) - chance("fails", other));
  for (const [rank, nth] of shuffled.entries()) {
    failures[nth] = Math.floor(Math.log((rank + 0.5) / events) / Math.log(share));
  }
  return failures;
}

/** These run alone: they keep the processor busy, or count what is sent in an instant. */
const alone: readonly Promised[] = [
  {
    name: "asks for a pause of 3 s",
    async run({ settings, track, settled }) {
      const until = performance.now() + 3_000;
      let early = 0;
      settings.fault = () => {
        if (performance.now() >= until) return undefined;
        early++;
        return says(429, { "retry-after": "3" });
      };
      await track("payment");
      await sleep(500);
      const before = early;
      for (let n = 0; n < 50; n++) await track("payment");
      await sleep(until - performance.now());
      const tookMs = await settled(10_000);
      return [
        `${early - before} requests before, all within ${ms(tookMs)}`,
        early === before && tookMs <= 2_500,
      ];
    },
  },
  {
    // Rests of six failures: 5.2 s at most. 2,856 attempts, eight at once, 20 ms each: 7.1 s.
    name: "fails 3 of 10 attempts, of one event six at most",
    async run({ service, settings, track, settled, tracker }) {
      const failures = failuresOf(2_000, 0.3);
      settings.fault = (visitor) => {
        const nth = Number(visitor.slice("visitor-".length));
        const left = failures[nth] ?? 0;
        failures[nth] = left - 1;
        return left > 0 ? says(500) : undefined;
      };
      for (let n = 0; n < 2_000; n++) await track(n % 2 ? "click" : "registration");
      const tookMs = await settled(60_000);
      const { delivered } = tracker.stats();
      return [
        `${delivered} within ${ms(tookMs)} of the last`,
        delivered === 2_000 && tookMs <= 20_000 && service.requests <= (1.3 * 2_000) / 0.7,
      ];
    },
  },
  {
    name: "has 4,000 clicks waiting, at 25 ms each",
    async run({ settings, track, longest }) {
      settings.answerMs = 25;
      await Promise.all(Array.from({ length: 4_000 }, () => track("click")));
      const payment = await track("payment");
      await sleep(1_500);
      const waited = longest([payment]);
      return [`a payment ${ms(waited)}`, waited <= 1_000];
    },
  },
];

interface Creation {
  readonly outbox: Outbox;
  dispose?(): Promise<void>;
}

interface Subject {
  readonly name: string;
  create(): Creation;
}

/** The outboxes that need no server. */
const local: readonly Subject[] = [
  { name: "memory", create: () => ({ outbox: memoryOutbox() }) },
  { name: "disk", create: () => ({ outbox: diskOutbox({ directory: scratch() }) }) },
];

/** Both servers without their flushes: how long this machine's disk takes is no promise of ours. */
const SERVERS = [
  {
    name: "Postgres",
    kind: "postgres",
    isThere: () => programsOfPostgres() !== undefined,
    settings: { fsync: "off" },
    missing: "There is no PostgreSQL server on this machine: its rows are left out.",
  },
  {
    name: "MySQL",
    kind: "mysql",
    isThere: () => programOfMariaDb() !== undefined,
    settings: { "innodb-flush-log-at-trx-commit": 0 },
    missing: "There is no MariaDB server on this machine: the MySQL outbox's rows are left out.",
  },
] as const;

/** Prints the table. Resolves to whether every promise was kept. */
export async function provePromises(only: {
  /** The outbox of this name alone: `memory`, `disk`, `Postgres` or `MySQL`. Empty: all. */
  readonly outbox: string;
  /** One local outbox and one on a server, chosen by the commit. */
  readonly short: boolean;
  /** The rows whose name has this text in it. */
  readonly row: string;
}): Promise<boolean> {
  const meant = <T extends { readonly name: string }>(all: readonly T[]): T[] => {
    const named = all.filter(({ name }) => name === (only.outbox || name));
    return only.short && named.length > 1 ? [inTurn("outbox", named)] : named;
  };
  const subjects: Subject[] = meant(local);
  const servers = [];
  for (const { name, kind, isThere, settings, missing } of meant(SERVERS)) {
    if (!isThere()) {
      console.log(missing);
      continue;
    }
    const server = await startServer(kind, settings);
    servers.push(server);
    subjects.push({
      name,
      create() {
        const tables = `faults_${randomBytes(4).toString("hex")}`;
        const { outbox, end } = openOn(kind, server.uri, { name: tables, connections: 4 });
        return { outbox, dispose: end };
      },
    });
  }
  async function provenOf(promised: readonly Promised[], { create }: Subject): Promise<Proven[]> {
    const rows = promised.filter(({ name }) => name.includes(only.row));
    // Tables are made before time counts.
    const worlds = await Promise.all(rows.map(() => open(create())));
    return Promise.all(rows.map((row, nth) => prove(row, worlds[nth] as World)));
  }
  const waiting = subjects.map((subject) => provenOf(patient, subject));
  const steady: Proven[][] = [];
  for (const subject of subjects) steady.push(await provenOf(together, subject));
  const flooded: Proven[][] = [];
  for (let nth = 0; nth < subjects.length; nth += 2) {
    const two = subjects.slice(nth, nth + 2);
    flooded.push(...(await Promise.all(two.map((subject) => provenOf(floods, subject)))));
  }
  let isKept = true;
  for (const [nth, subject] of subjects.entries()) {
    console.log(
      `\n${`the service, with the ${subject.name} outbox`.padEnd(58)}${"requests".padStart(9)}   measured`,
    );
    const results = [steady[nth], flooded[nth], await waiting[nth]].flatMap((proven) => proven ?? []);
    for (const each of alone) results.push(...(await provenOf([each], subject)));
    for (const row of results) {
      console.log(
        `${row.name.padEnd(58)}${String(row.requests).padStart(9)}   ${row.measured}${row.isKept ? "" : "   BROKEN"}`,
      );
      isKept &&= row.isKept;
    }
  }
  for (const { destroy } of servers) await destroy();
  return isKept;
}

type Proven = Awaited<ReturnType<typeof prove>>;

async function prove({ name, run }: Promised, world: World) {
  const [measured, isKept] = await run(world);
  const { requests } = world.service;
  await world.close();
  return { name, requests, measured, isKept };
}
