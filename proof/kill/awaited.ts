import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { type Child, startChild } from "../shared/child.js";
import { allHold, figures } from "../shared/figures.js";
import { scratch } from "../shared/scratch.js";
import { outOfOrderIn, repeatedIn, startService, wellAfter } from "../shared/service.js";
import { keyOf } from "../shared/tracker.js";
import type { HostOptions } from "./host.js";

/**
 * Hosts track events, and await each receipt. In the end every event that was acknowledged must
 * have reached the service, once, in its visitor's order; or be held.
 */
export async function proveAwaited(rounds: number): Promise<boolean> {
  const service = await startService(wellAfter(() => Math.random() * 15));
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
    for (const error of errors.slice(0, 10)) console.log(`unexpected: ${error}`);
    return allHold(
      figures(
        ["kills", kills],
        ["events acknowledged", acknowledged.size, { atLeast: 1 }],
        // On a slow machine the last of four hosts waits for the storage.
        ["receipts after a second, which promise nothing", late],
        // The kill came before the acknowledgement for some.
        ["events at the service", arrived.size],
        ["payments held: their delivery was cut short", held.size],
        ["events lost", lost, { atMost: 0 }],
        ["payments received twice", twice, { atMost: 0 }],
        ["others received twice, with the same key", again.length - twice],
        ["events out of order", outOfOrderIn(arrivals), { atMost: 0 }],
        ["unexpected", errors.length, { atMost: 0 }],
      ),
    );
  }
}
