import { compare } from "../carriers.js";
import type { Bench } from "../report.js";
import { SOCKETS, SOCKETS_OF_AN_ENDPOINT } from "../sockets.js";

/**
 * How fast a process that has just started delivers a burst: nothing is compiled or connected yet.
 */
export async function benchBurst(bench: Bench): Promise<void> {
  const rows = await compare(bench, {
    what: "burst",
    rounds: 5,
    carriers: ["undici", "memory", "disk, storing"],
    // As many as bare undici delivers in 2 s.
    cases: [
      { answersInMs: 20, events: 600 },
      { answersInMs: 5, events: 2_400 },
    ],
    isWarm: false,
    sockets: SOCKETS_OF_AN_ENDPOINT,
    concurrency: SOCKETS,
  });
  bench.report.section(
    "A burst in a new process",
    `As many payments as bare undici delivers in 2 s, ${SOCKETS_OF_AN_ENDPOINT} requests at a time. The process has just started, and has ` +
      "been handed all of them in one turn of its event loop.",
    rows,
  );
}
