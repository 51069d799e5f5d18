import { programsOfPostgres } from "../../test/helpers/cluster.js";
import { resultOf } from "../child.js";
import type { HandOver, HandOverArgument } from "../hand-over.js";
import { type Bench, micros, type Row, round } from "../report.js";
import { medianOf } from "../statistics.js";

/** What a report costs, with few and with many events waiting. */
export async function benchHandOver({ report, quick }: Bench): Promise<void> {
  const few = quick ? 200 : 1_000;
  const some = quick ? 2_000 : 100_000;
  const many = quick ? 4_000 : 1_000_000;
  const rows: Row[] = [];

  async function measure(
    outbox: HandOverArgument["outbox"],
    waiting: readonly number[],
    rounds: number,
  ): Promise<void> {
    const what = `hand-over, ${outbox}, up to ${round(waiting.at(-1) ?? 0)}`;
    const reports = await report.rounds(rounds, what, () =>
      resultOf<HandOver[]>("hand-over", {
        outbox,
        waiting,
        batches: quick ? 5 : 100,
      } satisfies HandOverArgument),
    );
    const measured = waiting.map((_, nth) => middle(reports.map((each) => each[nth] as HandOver)));
    for (const { waiting, mainThread, untilReceipt, heapBytes, diskBytes } of measured) {
      rows.push({
        outbox,
        "events waiting": round(waiting),
        "µs of main thread": micros(mainThread),
        "µs until the receipt": micros(untilReceipt),
        "bytes of heap": round(heapBytes),
        "bytes on disk": diskBytes === undefined ? "" : round(diskBytes),
      });
    }
  }

  for (const outbox of ["memory", "disk"] as const) {
    await measure(outbox, [few, some], quick ? 1 : 3);
    await measure(outbox, [many], 1);
  }
  if (programsOfPostgres()) await measure("postgres", [few, quick ? 1_000 : 20_000], 1);
  report.section(
    "Handing over",
    "`trackPayment`, 100 at a time, each by another visitor, until every receipt is there; what it costs for each event. The main " +
      "thread's time is processor time, by the thread's own clock; that until the receipt is time that passes.",
    rows,
  );
}

/** The median of each figure. */
function middle(measured: readonly HandOver[]): HandOver {
  const names = Object.keys(measured[0] ?? {}) as (keyof HandOver)[];
  return Object.fromEntries(
    names.map((name) => [name, medianOf(measured, (each) => each[name] ?? Number.NaN)]),
  ) as unknown as HandOver;
}
