import { resultOf, start } from "../child.js";
import { type Bench, medianOf, type Row, tenths } from "../report.js";
import type { ServiceReport } from "../service.js";
import type { StartUpReport } from "../start-up.js";

const MB = 1_000_000;

/** What the disk outbox's thread costs: memory, and time until the first receipt. */
export async function benchStartUp({ report, quick }: Bench): Promise<void> {
  const service = await start<ServiceReport>("service");
  const resultOfOutbox = (outbox: "memory" | "disk") =>
    resultOf<StartUpReport>("start-up", { outbox, service: service.ready.url });
  const measured = await report.rounds(quick ? 1 : 7, "start-up", async () => ({
    memory: await resultOfOutbox("memory"),
    disk: await resultOfOutbox("disk"),
  }));
  await service.end();
  const rowOf = (outbox: string, of: (column: keyof StartUpReport) => number): Row => ({
    outbox,
    "ms until the first receipt": tenths(of("receiptMs")),
    "MB of RSS": tenths(of("rss") / MB),
  });
  const above = (of: keyof StartUpReport) => medianOf(measured, ({ disk, memory }) => disk[of] - memory[of]);
  const rows = (["memory", "disk"] as const).map((outbox) =>
    rowOf(outbox, (column) => medianOf(measured, (each) => each[outbox][column])),
  );
  report.section(
    "Starting",
    "A process that starts a tracker, reports one payment and delivers it, with the disk outbox and its thread, and without. The " +
      "time counts from the start of the process; RSS is that of the whole process once the payment is delivered.",
    [...rows, rowOf("disk above memory", above)],
  );
}
