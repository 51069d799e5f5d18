import { resultOf, start } from "./child.js";
import type { Carrier, DeliveryArgument, DeliveryReport } from "./delivery.js";
import { type Bench, micros, type Row, ratio, round } from "./report.js";
import type { ServiceReport } from "./service.js";
import { medianOf } from "./statistics.js";

interface Comparison extends Omit<DeliveryArgument, "service" | "carrier" | "events"> {
  readonly what: string;
  readonly rounds: number;
  readonly carriers: readonly Carrier[];
  /** How long the service takes to answer, and how many events each delivers to it. */
  readonly cases: readonly { readonly answersInMs: number; readonly events: number }[];
}

/** A row for each: its rate, in rounds, and its share of bare undici's in the same round. */
export async function compare(
  { report, quick }: Bench,
  { what, rounds, carriers, cases, ...delivery }: Comparison,
): Promise<Row[]> {
  const rows: Row[] = [];
  for (const { answersInMs, events: all } of cases) {
    const answers = answersInMs === 0 ? "at once" : `in ${answersInMs} ms`;
    const events = quick ? all / 40 : all;
    const service = await start<ServiceReport>("service", { answersInMs });
    const measured = await report.rounds(quick ? 1 : rounds, `${what}, answers ${answers}`, async () => {
      const reports: Partial<Record<Carrier, DeliveryReport>> = {};
      for (const carrier of carriers) {
        const argument: DeliveryArgument = { ...delivery, service: service.ready.url, carrier, events };
        reports[carrier] = await resultOf<DeliveryReport>("delivery", argument);
      }
      return reports as Record<Carrier, DeliveryReport>;
    });
    await service.end();
    for (const carrier of carriers) {
      const of = (column: keyof DeliveryReport) => medianOf(measured, (each) => each[carrier][column]);
      const ofUndici = (column: keyof DeliveryReport) =>
        medianOf(measured, (each) => each[carrier][column] / each.undici[column]);
      rows.push({
        answers,
        carrier,
        "events/s": round(of("eventsPerSecond")),
        "of undici": ratio(ofUndici("eventsPerSecond")),
        "µs of processor": micros(of("cpuMicros")),
        "times undici's": ratio(ofUndici("cpuMicros")),
      });
    }
  }
  return rows;
}
