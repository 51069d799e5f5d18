import { resultOf } from "./child.js";
import type { Carrier, DeliveryArgument, DeliveryReport } from "./delivery.js";
import { micros, type Report, type Row, ratio, round } from "./report.js";
import { medianOf } from "./statistics.js";

/** One round. */
export type Compared = Readonly<Record<Carrier, DeliveryReport>>;
type Column = Exclude<keyof DeliveryReport, "parts">;

/** What each carrier takes, in rounds, and what that is of another's in the same round. */
export async function compare(comparison: {
  readonly report: Report;
  readonly rounds: number;
  readonly what: string;
  readonly carriers: readonly Carrier[];
  howOf(carrier: Carrier): Omit<DeliveryArgument, "carrier">;
}) {
  const { report, rounds, what, carriers, howOf } = comparison;
  const measured = await report.rounds(rounds, what, async () => {
    const reports: Partial<Record<Carrier, DeliveryReport>> = {};
    for (const carrier of carriers)
      reports[carrier] = await resultOf<DeliveryReport>("delivery", { carrier, ...howOf(carrier) });
    return reports as Compared;
  });
  const of = (carrier: Carrier, column: Column) => medianOf(measured, (each) => each[carrier][column]);
  const ofOther = (carrier: Carrier, column: Column, other: Carrier = "undici") =>
    medianOf(measured, (each) => each[carrier][column] / each[other][column]);
  const rowOf = (carrier: Carrier): Row => ({
    carrier,
    "events/s": round(of(carrier, "eventsPerSecond")),
    "of undici": ratio(ofOther(carrier, "eventsPerSecond")),
    "µs of processor": micros(of(carrier, "cpuMicros")),
    "times undici's": ratio(ofOther(carrier, "cpuMicros")),
  });
  return { measured, of, ofOther, rowOf };
}
