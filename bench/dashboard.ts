import express from "express";
import { affiliate, type EventKind, memoryOutbox, type Outbox } from "express-affiliate";
import { dashboard } from "express-affiliate/dashboard";
import { diskOutbox } from "express-affiliate/disk";
import { RecordingDelivery } from "../test/contract/recorder.js";
import { DESTINATION, largeSample } from "../test/contract/samples.js";
import { scratch } from "./scratch.js";
import { addressOf, argument, quiet, say } from "./task.js";
import { mainThreadMicros } from "./thread-clock.js";

export type DashboardReport = ReturnType<typeof report>;

const { outbox: name, letters } = argument as { outbox: "memory" | "disk"; letters: number };
const LETTER_LENGTH = 100_000;
const AT_ONCE = 50;
const MICROS_PER_MS = 1_000;

const bounds = { maxBytes: 8 * 1024 ** 3, maxDeadLetters: letters };
const outbox = name === "disk" ? diskOutbox({ directory: scratch(), ...bounds }) : memoryOutbox(bounds);
await fill(outbox);

/** Half of them payments, half registrations: all are given up. */
async function fill({ add, counts }: Outbox): Promise<void> {
  const delivery = new RecordingDelivery();
  delivery.each(({ settle }) => settle({ type: "dead", reason: "rejected", status: 422, attempts: 1 }));
  delivery.start(outbox);
  const kinds: readonly EventKind[] = ["payment", "registration"];
  for (let nth = 0; nth < letters; nth += AT_ONCE) {
    const events = Array.from({ length: AT_ONCE }, (_, at) =>
      largeSample(kinds[at % 2] as EventKind, LETTER_LENGTH),
    );
    await Promise.all(events.map((event) => add(event)));
    // A receipt may come before the event is stored, and of what is not stored memory holds only so
    // much.
    while (counts().dead.rejected < nth + AT_ONCE) await new Promise((resolve) => setTimeout(resolve, 1));
  }
  // What is retried waits.
  delivery.capacity = 0;
}

const tracker = affiliate({
  baseUrl: "https://tracking.example",
  clientId: DESTINATION,
  // It has been started.
  outbox: Object.assign(Object.create(outbox) as Outbox, { start() {} }),
  logger: quiet,
});
const app = express();
app.use(dashboard(tracker, { authorize: () => true }));
const url = await addressOf(app.listen(0, "127.0.0.1"));

globalThis.gc?.();
let used = mainThreadMicros();
let inAll = 0;
let longest = 0;

/** A timer that is due each millisecond has its turn between two pieces of other work. */
function look(): void {
  const now = mainThreadMicros();
  longest = Math.max(longest, now - used);
  inAll += now - used;
  used = now;
}
setInterval(look, 1);

/**
 * Processor time of the main thread since the last report, and the most of it before other code had
 * its turn, in milliseconds.
 */
function report() {
  look();
  const found = { url, mainThreadMs: inAll / MICROS_PER_MS, longestMs: longest / MICROS_PER_MS };
  inAll = 0;
  longest = 0;
  return found;
}

say(report(), report);
