import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { type Child, startChild } from "../shared/child.js";
import { scratch } from "../shared/scratch.js";
import { answer, outOfOrderIn, repeatedIn, startService } from "../shared/service.js";
import { keyOf } from "../shared/tracker.js";
import type { HostOptions } from "./host.js";

/**
 * The share of receipts that may say, after a second, that the storage has not answered: on a slow
 * machine the last of four hosts waits for it. Such a receipt promises nothing.
 */
const LATE_AT_MOST = 0.01;

/**
 * Hosts track events, and await each receipt. In the end every event that was acknowledged must
 * have reached the service, once, in its visitor's order; or be held.
 */
export async function proveAwaited(rounds: number): Promise<boolean> {
  const service = await startService((res, take) => {
    take();
    // Long enough for a kill to come in between.
    setTimeout(answer, Math.random() * 15, res);
  });
  const acknowledged = new Set<string>();
  const held = new Set<string>();
  const errors: string[] = [];
  let kills = 0;
  let late = 0;
  console.log(`\nReceipts awaited: ${rounds} rounds of one host and of four, service there and away`);

  for (const hosts of [1, 4]) {
    const directory = scratch();
    for (let round = 0; round < rounds; round++) {
      if (round % 2 === 1) await service.goAway();
      else await service.comeBack();
      const names = Array.from({ length: hosts }, (_, host) => `${hosts}.${round}.${host}`);
      await Promise.all(
        names.map((name) => killedInTheMiddle({ name, directory, task: "track", url: service.url })),
      );
      kills += hosts;
    }
    await service.comeBack();
    await host({ name: "last", directory, task: "drain", url: service.url }).ended;
  }
  await service.goAway();
  return judge();

  async function killedInTheMiddle(options: HostOptions): Promise<void> {
    const { spoken, kill } = host(options);
    // Counted from its first word, so that a slow machine is in the middle of something too.
    await spoken;
    await sleep(Math.random() * 600);
    await kill();
  }

  function host(options: HostOptions): Child {
    return startChild(fileURLToPath(import.meta.url), options, (said) => {
      if (said.acknowledged) acknowledged.add(keyOf(said.acknowledged));
      if (said.late) late++;
      if (said.dead && said.reason === "unconfirmed") held.add(keyOf(said.dead));
      else if (said.dead) errors.push(`a dead letter: ${JSON.stringify(said)}`);
      if (said.error) errors.push(said.error);
    });
  }

  function judge(): boolean {
    const { arrivals } = service;
    const arrived = new Set(arrivals.map(({ key }) => key));
    const lost = [...acknowledged].filter((id) => !arrived.has(id) && !held.has(id)).length;
    const again = repeatedIn(arrivals);
    const twice = again.filter(({ isPayment }) => isPayment).length;
    const outOfOrder = outOfOrderIn(arrivals);
    console.log(`kills               ${kills}`);
    console.log(`acknowledged        ${acknowledged.size}`);
    console.log(`after a second      ${late} receipts more, which promise nothing`);
    console.log(`at the service      ${arrived.size} (the kill came before the acknowledgement for some)`);
    console.log(
      `held                ${held.size} payments whose delivery was cut short, for an operator to decide`,
    );
    console.log(`lost                ${lost}`);
    console.log(
      `received twice      ${twice} payments; ${again.length - twice} others, sent again by the default policy with the same key`,
    );
    console.log(`out of order        ${outOfOrder}`);
    for (const error of errors.slice(0, 10)) console.log(`unexpected          ${error}`);
    const isPrompt = late < LATE_AT_MOST * acknowledged.size;
    return lost === 0 && twice === 0 && outOfOrder === 0 && errors.length === 0 && isPrompt;
  }
}
