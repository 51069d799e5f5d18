import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { startChild } from "../shared/child.js";
import { type Figure, figuresOf } from "../shared/figures.js";
import { scratch } from "../shared/scratch.js";
import { repeatedIn, startService, wellAfter } from "../shared/service.js";
import { keyOf } from "../shared/tracker.js";
import type { DiskHostOptions } from "./processes/disk-host.js";
import type { Part } from "./shared/part.js";

const VISITORS = 300;
const HOST = fileURLToPath(new URL("./processes/disk-host.js", import.meta.url));
// As in another container: it sees no other process's id, and they do not see its.
const IN_A_CONTAINER = ["unshare", "--fork", "--kill-child", "--pid", "--mount-proc"];

/** Kills a host while it delivers. Resolves to its events' fate once it, or another, goes on. */
async function killed(goesOn: "alone" | "another" | "container") {
  let answersInMs = 1_000;
  const service = await startService(wellAfter(() => answersInMs));
  const directory = scratch();
  const held = new Set<string>();
  const taken = () => new Set(service.arrivals.map(({ key }) => key));
  const missing = () => 3 * VISITORS - new Set([...taken(), ...held]).size;

  async function start(visitors: number, prefix: readonly string[] = []) {
    const options: DiskHostOptions = { url: service.url, directory, visitors };
    const host = startChild(HOST, options, ({ dead }) => dead && held.add(keyOf(dead)), prefix);
    await host.spoken;
    return host;
  }

  const other = goesOn === "alone" ? undefined : await start(0, goesOn === "container" ? IN_A_CONTAINER : []);
  const host = await start(VISITORS);
  while (taken().size < 20) await sleep(20);
  await host.kill();
  answersInMs = 5;
  const from = performance.now();
  const successor = other ?? (await start(0));
  while (missing() > 0 && performance.now() - from < 60_000) await sleep(20);
  const seconds = Math.round((performance.now() - from) / 100) / 10;
  await successor.kill();
  await service.goAway();
  const paymentsTwice = repeatedIn(service.arrivals).filter(({ isPayment }) => isPayment).length;
  return { seconds, lost: missing(), held: held.size, paymentsTwice };
}

export default {
  title: `a host with a disk outbox is killed with the events of ${VISITORS} visitors, some of them claimed`,
  async prove() {
    const figures: Figure[] = [];
    for (const [goesOn, who] of [
      ["alone", "started again, alone"],
      ["another", "another process goes on"],
      ["container", "a process in another container goes on"],
    ] as const) {
      const { seconds, lost, held, paymentsTwice } = await killed(goesOn);
      figures.push(
        ...figuresOf(
          who,
          ["the last event has arrived, or is held, after", seconds, { unit: "s", atMost: 5 }],
          ["events lost", lost, { atMost: 0 }],
          ["payments held, for they were under way", held, { atMost: 8 }],
          ["payments twice", paymentsTwice, { atMost: 0 }],
        ),
      );
    }
    return figures;
  },
} satisfies Part;
