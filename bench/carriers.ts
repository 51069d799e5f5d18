import { resultOf, start } from "./child.js";
import type { Carrier, DeliveryArgument, DeliveryReport } from "./delivery.js";
import { type Bench, micros, type Row, ratio, round } from "./report.js";
import type { ServiceReport } from "./service.js";
import { medianOf } from "./statistics.js";

/** One round. */
export type Compared = Readonly<Record<Carrier, DeliveryReport>>;
type Column = Exclude<keyof DeliveryReport, "parts">;

interface Comparison extends Pick<DeliveryArgument, "events" | "sockets" | "concurrency"> {
  readonly what: string;
  readonly rounds: number;
  /** Each delivers so many events; `fetch`, which is slow, a fifth. */
  readonly carriers: readonly Carrier[];
  /** How long the service takes to answer. Default: 0. */
  readonly answersInMs?: number;
  /** Warm-up events for each measured one. Default: 1. */
  readonly warmUp?: number;
}

/** Each carrier's rate, in rounds, and its share of bare undici's in the same round. */
export async function compare({ report, quick }: Bench, comparison: Comparison) {
  const { what, rounds, carriers, answersInMs = 0, warmUp = 1, events, sockets, concurrency } = comparison;
  const service = await start<ServiceReport>("service");
  await service.report({ answersInMs });
  const measured = await report.rounds(quick ? 1 : rounds, what, async () => {
    const reports: Partial<Record<Carrier, DeliveryReport>> = {};
    for (const carrier of carriers) {
      const own = carrier === "fetch" ? events / 5 : events;
      const argument: DeliveryArgument = {
        ...{ carrier, service: service.ready.url, sockets, concurrency },
        ...{ events: own, warmUp: own * warmUp },
      };
      reports[carrier] = await resultOf<DeliveryReport>("delivery", argument);
    }
    return reports as Compared;
  });
  await service.end();
  const of = (carrier: Carrier, column: Column) => medianOf(measured, (each) => each[carrier][column]);
  const ofUndici = (carrier: Carrier, column: Column) =>
    medianOf(measured, (each) => each[carrier][column] / each.undici[column]);
  const rowOf = (carrier: Carrier): Row => ({
    carrier,
    "events/s": round(of(carrier, "eventsPerSecond")),
    "of undici": ratio(ofUndici(carrier, "eventsPerSecond")),
    "µs of processor": micros(of(carrier, "cpuMicros")),
    "times undici's": ratio(ofUndici(carrier, "cpuMicros")),
  });
  return { measured, of, rowOf };
}
