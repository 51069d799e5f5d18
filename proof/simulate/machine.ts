import { VirtualClock } from "./clock.js";

const { now } = Date;
const { bigint } = process.hrtime;

let clock = new VirtualClock();

/** The clock of the simulation that runs. The package's timers are bound to it: see virtual-modules.ts. */
export const theClock = (): VirtualClock => clock;

/** Runs the body with the time of this clock, as far as code asks for it that takes no clock. */
export async function livingBy<T>(own: VirtualClock, body: () => Promise<T>): Promise<T> {
  clock = own;
  Date.now = own.now;
  process.hrtime.bigint = () => BigInt(Math.round(own.monotonic() * 1e6));
  try {
    return await body();
  } finally {
    Date.now = now;
    process.hrtime.bigint = bigint;
  }
}
