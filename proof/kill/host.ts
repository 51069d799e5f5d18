import { statSync } from "node:fs";
import { join } from "node:path";
import express from "express";
import type { Affiliate, EventKind } from "express-affiliate";
import { diskOutbox } from "express-affiliate/disk";
import { spoolsBeside } from "../../src/outbox/disk/spool/spool-files.js";
import { say } from "../shared/child.js";
import { secondsUntil } from "../shared/seconds-until.js";
import { serve } from "../shared/serve.js";
import { trackerOf, trackNth } from "../shared/tracker.js";

const VISITORS = 8;
/** Of a visitor's events, the first and each fifth after it is a click. */
const KINDS: readonly EventKind[] = ["payment", "click", "registration", "payment", "payment"];
// A fast machine tracks thousands. A visitor with too many waiting clicks loses the oldest.
const EVENTS_OF_A_VISITOR = 100;

export interface HostOptions {
  readonly url: string;
  readonly directory: string;
  readonly name: string;
  readonly task: keyof typeof TASKS;
}

const TASKS = { track, sell, drain };

/** A host: tracks or sells until it is killed, or sends what others left. Says what happens. */
export async function runHost(options: HostOptions): Promise<void> {
  const { url, directory, task } = options;
  const tracker = trackerOf(url, {
    outbox: diskOutbox({ directory }),
    logger: { warn() {}, error: (line) => say({ error: String(line) }) },
  });
  await TASKS[task](tracker, options);
}

/** Prints each receipt at once. */
function track(tracker: Affiliate, { name }: HostOptions): void {
  for (let visitor = 0; visitor < VISITORS; visitor++) void visit(`${name}-${visitor}`);

  async function visit(name: string): Promise<void> {
    for (let nth = 1; ; nth++) {
      const visitor = `${name}-${Math.ceil(nth / EVENTS_OF_A_VISITOR)}`;
      const receipt = await trackNth(tracker, KINDS[nth % KINDS.length] as EventKind, visitor, nth);
      if (receipt.outcome === "queued" && receipt.reason === undefined)
        say({ acknowledged: receipt.id, nth });
      else if (receipt.outcome === "queued" && receipt.reason === "storage-trouble")
        say({ late: receipt.id });
      else say({ error: `not queued: ${JSON.stringify(receipt)}` });
      if (nth % 10 === 0) await new Promise(setImmediate);
    }
  }
}

/** A shop that awaits nothing: both of its checkouts answer before the receipt is there. */
async function sell(tracker: Affiliate): Promise<void> {
  const app = express();
  app.use(express.json(), tracker);
  const paymentOf = ({ id }: { id: number }) => ({
    ...{ paymentId: id, customerEmail: "ann@shop.example", leadValue: id },
  });

  app.post(
    "/wrapped",
    tracker.onPayment((req, res) => {
      setImmediate(() => res.json({ paid: true }));
      return paymentOf(req.body);
    }),
  );
  app.post("/called", (req, res) => {
    void req.affiliate?.trackPayment(paymentOf(req.body));
    res.json({ paid: true });
  });

  const { port } = await serve(app);
  say({ port });
}

async function drain(tracker: Affiliate, { directory }: HostOptions): Promise<void> {
  // One that holds more than its empty first line is to be taken in.
  const spools = () =>
    spoolsBeside(join(directory, "outbox.db")).filter(({ path }) => statSync(path).size > 1);
  async function isDone(): Promise<boolean> {
    await tracker.flush({ timeoutMs: 1_000 });
    return tracker.stats().queued === 0 && spools().length === 0;
  }
  await secondsUntil(isDone, 120);
  if (!(await isDone())) {
    const left = `${tracker.stats().queued} events in ${directory}, and ${JSON.stringify(spools())}`;
    say({ error: `not sent: ${left}` });
  }
  for (const { id, reason, event } of await tracker.deadLetters.list({ limit: 1_000_000 })) {
    say({ dead: id, reason, nth: "leadValue" in event ? event.leadValue : 0 });
  }
  await tracker.close();
}
