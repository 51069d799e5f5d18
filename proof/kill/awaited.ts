import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { keyOf } from "../shared/keys.js";
import { type Child, startChild } from "./child.js";
import type { HostOptions } from "./host.js";
import { type Arrival, startService } from "./service.js";

/**
 * Hosts track events, and await each receipt. In the end every event that was acknowledged must have reached the service, once, in
 * its visitor's order; or be held.
 */
export async function proveAwaited(rounds: number): Promise<boolean> {
  const service = await startService();
  const acknowledged = new Set<string>();
  const held = new Set<string>();
  const errors: string[] = [];
  let kills = 0;
  console.log(`\nReceipts awaited: ${rounds} rounds of one host and of four, service there and away`);

  for (const hosts of [1, 4]) {
    const directory = mkdtempSync(join(tmpdir(), "express-affiliate-proof-"));
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
    const { ended } = host({ name: "last", directory, task: "drain", url: service.url });
    await ended;
    rmSync(directory, { recursive: true });
  }
  await service.goAway();
  return judge();

  async function killedInTheMiddle(options: HostOptions): Promise<void> {
    const { spoken, kill } = host(options);
    // The moment counts from its first word, so that it is in the middle of something on a slow machine too.
    await spoken;
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 600));
    await kill();
  }

  function host(options: HostOptions): Child {
    return startChild(options, (said) => {
      if (said.acknowledged) acknowledged.add(keyOf(said.acknowledged));
      if (said.dead && said.reason === "unconfirmed") held.add(keyOf(said.dead));
      else if (said.dead) errors.push(`a dead letter: ${JSON.stringify(said)}`);
      if (said.error) errors.push(said.error);
    });
  }

  function judge(): boolean {
    const { arrivals } = service;
    const arrived = new Set(arrivals.map(({ key }) => key));
    const lost = [...acknowledged].filter((id) => !arrived.has(id) && !held.has(id)).length;
    const [twice, sentAgain] = [repeated(true), repeated(false)];
    const outOfOrder = disorder();
    console.log(`kills               ${kills}`);
    console.log(`acknowledged        ${acknowledged.size}`);
    console.log(`at the service      ${arrived.size} (the kill came before the acknowledgement for some)`);
    console.log(
      `held                ${held.size} payments whose delivery was cut short, for an operator to decide`,
    );
    console.log(`lost                ${lost}`);
    console.log(
      `received twice      ${twice} payments; ${sentAgain} others, sent again by the default policy with the same key`,
    );
    console.log(`out of order        ${outOfOrder}`);
    for (const error of errors.slice(0, 10)) console.log(`unexpected          ${error}`);
    return lost === 0 && twice === 0 && outOfOrder === 0 && errors.length === 0 && acknowledged.size > 0;
  }

  function repeated(payments: boolean): number {
    const ofInterest = service.arrivals.filter(({ path }) => path.endsWith("/payment") === payments);
    return ofInterest.length - new Set(ofInterest.map(({ key }) => key)).size;
  }

  function disorder(): number {
    const last = new Map<string, number>();
    const seen = new Set<string>();
    return service.arrivals.filter(({ key, visitor, nth }: Arrival) => {
      if (seen.has(key)) return false;
      seen.add(key);
      const before = last.get(visitor) ?? 0;
      last.set(visitor, Math.max(before, nth));
      return nth < before;
    }).length;
  }
}
