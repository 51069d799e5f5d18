import { VirtualClock } from "./clock.js";

const { now } = Date;
const { random } = Math;
const { bigint } = process.hrtime;

let clock = new VirtualClock();

/** The clock of the simulation that runs. The package's timers use it: see virtual-modules.ts. */
export const theClock = (): VirtualClock => clock;

/** Runs the body with this clock's time and these numbers, for code that is given neither. */
export async function livingBy<T>(
  own: VirtualClock,
  numbers: () => number,
  body: () => Promise<T>,
): Promise<T> {
  clock = own;
  Date.now = own.now;
  Math.random = numbers;
  process.hrtime.bigint = () => BigInt(Math.round(own.monotonic() * 1e6));
  try {
    return await body();
  } finally {
    Date.now = now;
    Math.random = random;
    process.hrtime.bigint = bigint;
  }
}
