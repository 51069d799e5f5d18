import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { Pool } from "undici";
import { type Child, type Said, startChild } from "../shared/child.js";
import { allHold, figures } from "../shared/figures.js";
import { scratch } from "../shared/scratch.js";
import { startService, wellAfter } from "../shared/service.js";
import type { HostOptions } from "./host.js";

const VISITORS = 32;
const CONCURRENCY = 8;
const SLOW_MS = 300;
const STATES = ["there", "away", "slow"] as const;
const PATHS = ["/wrapped", "/called"] as const;

/**
 * Shops sell to many visitors at a time, and await nothing: their handlers answer before the
 * receipt is there. Each payment that was answered must reach the service, once, or be held: at
 * most `concurrency` for each kill.
 */
export async function proveAnswered(rounds: number): Promise<boolean> {
  let slowMs = 0;
  const service = await startService(wellAfter(() => slowMs + Math.random() * 15));
  const answered = new Set<number>();
  const pathOf = new Map<number, string>();
  const held = new Set<number>();
  const errors: string[] = [];
  let orders = 0;
  let kills = 0;
  console.log(`\nNothing awaited: ${rounds} rounds of one shop and of four, service there, away and slow`);

  for (const state of STATES) {
    for (const hosts of [1, 4]) {
      const directory = scratch();
      if (state === "away") await service.goAway();
      slowMs = state === "slow" ? SLOW_MS : 0;
      for (let round = 0; round < rounds; round++) {
        const shops = Array.from({ length: hosts }, () =>
          start({ name: "shop", directory, task: "sell", url: service.url }),
        );
        await Promise.all(shops.map((shop) => sellUntilKilled(shop, VISITORS / hosts)));
        kills += hosts;
      }
      slowMs = 0;
      await service.comeBack();
      await start({ name: "last", directory, task: "drain", url: service.url }).ended;
    }
  }
  await service.goAway();
  return judge();

  function hear({ dead, nth = 0, reason, error }: Said): void {
    if (dead && reason === "unconfirmed") held.add(nth);
    else if (dead) errors.push(`dead letter ${dead}: ${reason}`);
    if (error) errors.push(error);
  }

  function start(options: HostOptions): Child {
    return startChild(fileURLToPath(import.meta.url), options, hear);
  }

  async function sellUntilKilled({ spoken, kill }: Child, visitors: number): Promise<void> {
    const { port } = await spoken;
    const pool = new Pool(`http://127.0.0.1:${port}`, { connections: visitors });
    let begin = () => {};
    const begun = new Promise<void>((resolve) => {
      begin = resolve;
    });
    const selling = Promise.all(
      Array.from({ length: visitors }, async (_, visitor) => {
        for (;;) {
          const id = ++orders;
          const path = PATHS[visitor % 2] as string;
          pathOf.set(id, path);
          if (!(await isAnswered(id, pool, path))) return;
          answered.add(id);
          begin();
        }
      }),
    );
    // Counted from the first answer, so that a slow machine is in the middle of something too.
    await Promise.race([begun, selling]);
    await sleep(Math.random() * 600);
    await kill();
    await selling;
    await pool.destroy();
  }

  function judge(): boolean {
    // A payment's amount is its number.
    const arrived = service.arrivals.map(({ nth }) => nth);
    const there = new Set(arrived);
    const missing = [...answered].filter((id) => !there.has(id) && !held.has(id));
    for (const error of errors.slice(0, 10)) console.log(`unexpected: ${error}`);
    const missedAt = (path: string) => missing.filter((id) => pathOf.get(id) === path).length;
    return allHold(
      figures(
        ["kills", kills],
        ["payments answered", answered.size, { atLeast: 1 }],
        // The kill came before the answer for some.
        ["payments at the service", there.size],
        ["payments held: their delivery was cut short", held.size, { atMost: kills * CONCURRENCY }],
        ...PATHS.map((path) => [`payments of ${path} missing`, missedAt(path), { atMost: 0 }] as const),
        ["payments received twice", arrived.length - there.size, { atMost: 0 }],
        ["unexpected", errors.length, { atMost: 0 }],
      ),
    );
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
