/**
 * `npm run proof scale -- --outbox disk,postgres,mysql --clicks 100000`
 *
 * What a backlog and a second process mean for an outbox: how long a claim of 8 payments takes while
 * so many clicks wait, and 5,000 visitors whose heads rest, in times of a claim beside nothing; and at
 * which rate two processes deliver from one storage, in times of one process's, if an answer takes 20 ms.
 * Exits with 1 if the backlog is no longer whole at the end, if a claim takes more than three times as
 * long, or if two processes have less than 1.4 times the rate.
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { EventKind } from "express-affiliate";
import { UNTRIED, type Verdict } from "../src/outbox/outbox.js";
import { ENDPOINTS } from "../src/service/endpoints.js";
import { DESTINATION, LONG_MS, sample } from "../test/contract/samples.js";
import { openAt, type Place, proveEach } from "./kill/shop.js";
import type { Server } from "./outboxes/server.js";
import { allHold, exactly } from "./shared/figures.js";
import { deliverMany, reportMany } from "./shared/load.js";
import { commandLine } from "./shared/options.js";
import { scratch } from "./shared/scratch.js";

const CLAIMS = 60;
const AT_ONCE = 8;
const RESTING = 5_000;
const SOCKETS = 6;
const ANSWER_MS = 20;
const PAYMENTS = 1_500;

const { options, words } = commandLine({ outbox: "disk", clicks: 100_000 });
const { outbox, clicks } = options;
await proveEach(outbox, words, deliverAll, prove);

async function prove(kind: Place["kind"], server: Server | undefined): Promise<boolean> {
  console.log(
    `${kind}, Node ${process.version}: ${clicks} clicks and ${RESTING} resting heads; two processes`,
  );
  const placeOf = (name: string): Place => ({ kind, at: server?.uri ?? scratch(), name });
  const full = gated(placeOf("full"));
  await reportMany(full.outbox, RESTING, () => sample("registration"));
  await full.take(RESTING, {
    type: "retry",
    inMs: LONG_MS,
    history: { ...UNTRIED, attempts: 1, failures: 1 },
  });
  await reportMany(full.outbox, clicks, () => sample("click"));
  const empty = gated(placeOf("empty"));
  for (const { outbox } of [full, empty]) await reportMany(outbox, CLAIMS * AT_ONCE, () => sample("payment"));

  const [times, others]: [number[], number[]] = [[], []];
  // In turn: the machine's other load is that of both.
  for (let nth = 0; nth < CLAIMS; nth++) {
    times.push(await full.take(AT_ONCE, { type: "delivered" }));
    others.push(await empty.take(AT_ONCE, { type: "delivered" }));
  }
  const beside = (await full.outbox.look()).queued;
  await Promise.all([full.close(), empty.close()]);

  const shared = placeOf("shared");
  const one = await rateOf(1, shared);
  const two = await rateOf(2, shared);
  // The fastest tenth: slower claims also show that load.
  const [claimMs = 0, besideNothingMs = 1] = [times, others].map(
    (all) => all.sort((a, b) => a - b)[CLAIMS / 10],
  );
  return allHold(
    ["events that waited beside", beside, exactly(clicks + RESTING)],
    ["a claim of 8", claimMs, { unit: "ms" }],
    ["in times of one beside nothing", claimMs / besideNothingMs, { atMost: 3 }],
    ["two processes, in times of one's rate", two / one, { atLeast: 1.4 }],
  );
}

/** An outbox that hands out events only when they are taken. */
function gated(place: Place) {
  const { outbox, end } = openAt(place);
  let left = 0;
  let verdict: Verdict;
  let taken = () => {};
  outbox.bind(DESTINATION);
  outbox.start(
    {
      capacity: () => ({ limit: left, lanes: ENDPOINTS.map((endpoint) => ({ endpoint, limit: left })) }),
      async deliver() {
        if (--left === 0) taken();
        return verdict;
      },
      settled() {},
    },
    {
      dropped: ({ kind }: { kind: EventKind }) => console.error(`dropped a ${kind}`),
      degraded: console.error,
      recovered() {},
    },
  );
  return {
    outbox,
    /** Resolves to how many milliseconds it took until these were handed out; then they are settled. */
    async take(number: number, as: Verdict): Promise<number> {
      const all = new Promise<void>((resolve) => (taken = resolve));
      const began = performance.now();
      verdict = as;
      left = number;
      outbox.wake();
      await all;
      const took = performance.now() - began;
      while (outbox.idle === false) await sleep(1);
      return took;
    },
    close: () => outbox.close().then(end),
  };
}

/** How many events a second so many processes deliver, without their start. */
async function rateOf(processes: number, place: Place): Promise<number> {
  const filling = gated(place);
  await reportMany(filling.outbox, PAYMENTS, () => sample("payment"));
  await filling.close();
  const argument = JSON.stringify(place);
  const children = Array.from({ length: processes }, () => fork(fileURLToPath(import.meta.url), [argument]));
  await Promise.all(children.map((child) => once(child, "message")));
  let delivered = 0;
  const began = performance.now();
  await new Promise<void>((resolve) => {
    for (const child of children) {
      child.on("message", () => ++delivered === PAYMENTS && resolve());
      child.send("start");
    }
  });
  const seconds = (performance.now() - began) / 1_000;
  for (const child of children) child.disconnect();
  await Promise.all(children.map((child) => once(child, "exit")));
  return PAYMENTS / seconds;
}

/** Says `ready`, and from when it is told to each time that it has delivered an event. */
async function deliverAll(place: Place): Promise<void> {
  const { outbox, end } = openAt(place);
  const say = (word: string) => process.send?.(word);
  await outbox.look();
  process.once("message", () => {
    deliverMany(outbox, { atOnce: SOCKETS, answerMs: ANSWER_MS, settled: () => say("delivered") });
  });
  process.once("disconnect", () => outbox.close().then(end));
  say("ready");
}
