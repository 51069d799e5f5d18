import { resultOf } from "./child.js";
import type { Carrier, DeliveryArgument, DeliveryReport } from "./delivery.js";
import { micros, type Row, ratio, round } from "./report.js";
import { medianOf } from "./statistics.js";

type Column = Exclude<keyof DeliveryReport, "parts">;

export const deliver = (how: DeliveryArgument) => resultOf<DeliveryReport, DeliveryArgument>("delivery", how);

/** What each carrier takes, and what that is of bare undici's in the same round. */
export function compared<Name extends Carrier | "disk, profiled">(
  rounds: readonly Readonly<Record<Name, DeliveryReport> & Record<"undici", DeliveryReport>>[],
) {
  const of = (carrier: Name, column: Column) => medianOf(rounds, (each) => each[carrier][column]);
  const ofUndicis = (carrier: Name, column: Column) =>
    medianOf(rounds, (each) => each[carrier][column] / each.undici[column]);
  return {
    of,
    ofUndicis,
    rowOf: (carrier: Name): Row => ({
      carrier,
      "events/s": round(of(carrier, "eventsPerSecond")),
      "of undici": ratio(ofUndicis(carrier, "eventsPerSecond")),
      "µs of processor": micros(of(carrier, "cpuMicros")),
      "times undici's": ratio(ofUndicis(carrier, "cpuMicros")),
    }),
  };
}
