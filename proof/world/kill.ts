import { fileURLToPath } from "node:url";
import { startChild } from "../shared/child.js";
import { type Figure, figuresOf } from "../shared/figures.js";
import { scratch } from "../shared/scratch.js";
import { secondsUntil } from "../shared/seconds-until.js";
import { fateOf, repeatedIn, startService, wellAfter } from "../shared/service.js";
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
  /** Taken, and cut off before the answer. */
  const cutOff = new Set<string>();
  const answers = wellAfter(() => answersInMs);
  const service = await startService((res, take, asked) => {
    res.once("close", () => res.writableFinished || cutOff.add(asked.key));
    answers(res, take, asked);
  });
  const directory = scratch();
  const held = new Set<string>();
  const taken = () => new Set(service.arrivals.map(({ key }) => key));
  const missing = () => 3 * VISITORS - new Set([...taken(), ...held]).size;

  async function start(visitors: number, prefix: readonly string[] = []) {
    const options: DiskHostOptions = { url: `${service.url}/of-${visitors}`, directory, visitors };
    const host = startChild(HOST, options, ({ dead }) => dead && held.add(keyOf(dead)), prefix);
    await host.spoken;
    return host;
  }

  const other = goesOn === "alone" ? undefined : await start(0, goesOn === "container" ? IN_A_CONTAINER : []);
  const host = await start(VISITORS);
  await secondsUntil(
    () => service.arrivals.filter(({ path }) => path.startsWith(`/of-${VISITORS}`)).length >= 10,
  );
  await host.kill();
  answersInMs = 5;
  const successor = other ?? (await start(0));
  const again = () => new Set(repeatedIn(service.arrivals).map(({ key }) => key));
  // Those that were never tried go first.
  const others = await secondsUntil(() => missing() === 0);
  const claims = await secondsUntil(() => [...cutOff].every((key) => held.has(key) || again().has(key)));
  const underWay = cutOff.size;
  await successor.kill();
  await service.goAway();
  const { paymentsTwice } = fateOf([], service.arrivals, held);
  return { underWay, others, claims, lost: missing(), held: held.size, paymentsTwice };
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
      const { underWay, others, claims, lost, held, paymentsTwice } = await killed(goesOn);
      figures.push(
        ...figuresOf(
          who,
          ["events under way in it", underWay, { atLeast: 1 }],
          ["the others have arrived after", others, { unit: "s" }],
          // Its lease ends after 15 s to 20 s.
          ["and these have arrived again, or are held, after", others + claims, { unit: "s", atMost: 14 }],
          ["events lost", lost, { atMost: 0 }],
          ["payments held, for they were under way", held, { atMost: 8 }],
          ["payments twice", paymentsTwice, { atMost: 0 }],
        ),
      );
    }
    return figures;
  },
} satisfies Part;
