import { compare } from "../carriers.js";
import type { Bench, Row } from "../report.js";
import { SOCKETS, SOCKETS_OF_AN_ENDPOINT } from "../sockets.js";

const CARRIERS = ["undici", "memory", "disk, storing"] as const;

/** As many payments as bare undici delivers in 2 s. */
const CASES = [
  { answersInMs: 20, events: 600 },
  { answersInMs: 5, events: 2_400 },
] as const;

/**
 * How fast a process that has just started delivers a burst: nothing is compiled or connected yet.
 */
export async function benchBurst(bench: Bench): Promise<void> {
  const { report, quick } = bench;
  const rows: Row[] = [];
  for (const { answersInMs, events } of CASES) {
    const { rowOf } = await compare(bench, {
      what: `burst, answers in ${answersInMs} ms`,
      rounds: 5,
      carriers: CARRIERS,
      answersInMs,
      events: quick ? events / 10 : events,
      warmUp: 0,
      sockets: SOCKETS_OF_AN_ENDPOINT,
      concurrency: SOCKETS,
    });
    for (const carrier of CARRIERS) rows.push({ answers: `in ${answersInMs} ms`, ...rowOf(carrier) });
  }
  report.section(
    "A burst in a new process",
    `As many payments as bare undici delivers in 2 s, ${SOCKETS_OF_AN_ENDPOINT} requests at a time. The process has just started, and has ` +
      "been handed all of them in one turn of its event loop.",
    rows,
  );
}
