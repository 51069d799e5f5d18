import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { Pool } from "undici";
import { type Child, type Said, startChild } from "../shared/child.js";
import { allHold, figures } from "../shared/figures.js";
import { scratch } from "../shared/scratch.js";
import { type Arrival, fateOf, startService, wellAfter } from "../shared/service.js";
import { keyOf } from "../shared/tracker.js";
import type { HostOptions } from "./host.js";

const STATES = ["there", "away", "slow"] as const;
const SLOW_MS = 300;
const CONCURRENCY = 8;
const VISITORS_OF_A_SHOP = 16;
const PATHS = ["/wrapped", "/called"] as const;

/** How hosts report until they are killed. */
export interface Way {
  readonly title: string;
  readonly task: HostOptions["task"];
  /** What tells an event from others, at the service and in what its host says. */
  idOf(arrival: Arrival): string;
  idIn(said: Said): string;
  /** Resolves once the host is in the middle of it, to what waits for the end, after the kill. */
  begin(host: Child, isSafe: (id: string) => void): Promise<() => Promise<void>>;
}

/** Hosts await each receipt. */
export const awaited: Way = {
  title: "Receipts awaited",
  task: "track",
  idOf: ({ key }) => key,
  idIn: ({ acknowledged, dead }) => keyOf(acknowledged ?? dead ?? ""),
  begin: ({ spoken }) => spoken.then(() => async () => {}),
};

let orders = 0;

/**
 * Shops sell to many visitors at a time, and await nothing: their handlers answer before the
 * receipt is there.
 */
export const answered: Way = {
  title: "Nothing awaited",
  task: "sell",
  // A payment's amount is its number.
  idOf: ({ nth }) => String(nth),
  idIn: ({ nth }) => String(nth),
  async begin({ spoken }, isSafe) {
    const { port } = await spoken;
    const pool = new Pool(`http://127.0.0.1:${port}`, { connections: VISITORS_OF_A_SHOP });
    let begin = () => {};
    const begun = new Promise<void>((resolve) => {
      begin = resolve;
    });
    const visitors = Array.from({ length: VISITORS_OF_A_SHOP }, async (_, visitor) => {
      for (let id = ++orders; await isAnswered(id, pool, PATHS[visitor % 2] as string); id = ++orders) {
        isSafe(String(id));
        begin();
      }
    });
    const selling = Promise.all(visitors);
    await Promise.race([begun, selling]);
    return async () => {
      await selling;
      await pool.destroy();
    };
  },
};

/**
 * Each event that was acknowledged, and each payment that was answered, must reach the service,
 * once, in its visitor's order; or be held: at most `concurrency` for each kill.
 */
export async function proveKills({ title, task, idOf, idIn, begin }: Way, rounds: number): Promise<boolean> {
  let slowMs = 0;
  const service = await startService(wellAfter(() => slowMs + Math.random() * 15));
  const safe = new Set<string>();
  const held = new Set<string>();
  const errors: string[] = [];
  let kills = 0;
  let late = 0;
  console.log(`\n${title}: ${rounds} rounds of one host and of four, service there, away and slow`);

  for (const hosts of [1, 4]) {
    const directory = scratch();
    const start = (name: string, what: HostOptions["task"]) => {
      const options: HostOptions = { name, directory, task: what, url: service.url };
      return startChild(fileURLToPath(import.meta.url), options, hear);
    };
    for (let round = 0; round < rounds; round++) {
      const state = STATES[round % STATES.length];
      slowMs = state === "slow" ? SLOW_MS : 0;
      if (state === "away") await service.goAway();
      else await service.comeBack();
      const names = Array.from({ length: hosts }, (_, host) => `${hosts}.${round}.${host}`);
      await Promise.all(names.map((name) => killInTheMiddle(start(name, task))));
      kills += hosts;
    }
    slowMs = 0;
    await service.comeBack();
    await start("last", "drain").ended;
  }
  await service.goAway();

  for (const error of errors.slice(0, 10)) console.log(`unexpected: ${error}`);
  const named = service.arrivals.map((arrival) => ({ ...arrival, key: idOf(arrival) }));
  const { arrived, lost, paymentsTwice, othersTwice, outOfOrder } = fateOf(safe, named, held);
  return allHold(
    figures(
      ["kills", kills],
      ["events acknowledged, or payments answered", safe.size, { atLeast: 1 }],
      // On a slow machine the last of four hosts waits for the storage.
      ["receipts after a second, which promise nothing", late],
      // The kill came before the acknowledgement for some.
      ["events at the service", arrived],
      ["payments held: their delivery was cut short", held.size, { atMost: kills * CONCURRENCY }],
      ["events lost", lost, { atMost: 0 }],
      ["payments received twice", paymentsTwice, { atMost: 0 }],
      ["others received twice, with the same key", othersTwice],
      ["events out of order", outOfOrder, { atMost: 0 }],
      ["unexpected", errors.length, { atMost: 0 }],
    ),
  );

  function hear(said: Said): void {
    if (said.acknowledged) safe.add(idIn(said));
    if (said.late) late++;
    if (said.dead && said.reason === "unconfirmed") held.add(idIn(said));
    else if (said.dead) errors.push(`a dead letter: ${JSON.stringify(said)}`);
    if (said.error) errors.push(said.error);
  }

  async function killInTheMiddle(host: Child): Promise<void> {
    // Counted from then, so that a slow machine is in the middle of something too.
    const end = await begin(host, (id) => safe.add(id));
    await sleep(Math.random() * 600);
    await host.kill();
    await end();
  }
}

/** Whether the visitor has got the response. */
async function isAnswered(id: number, pool: Pool, path: string): Promise<boolean> {
  const headers = { "content-type": "application/json", cookie: `svc_session_id=visitor-${id}` };
  try {
    const { statusCode, body } = await pool.request({
      path,
      method: "POST",
      headers,
      body: JSON.stringify({ id }),
    });
    // Answered once the head is there: the visitor has seen it go through.
    body.on("error", () => {}).resume();
    return statusCode === 200;
  } catch {
    return false;
  }
}
