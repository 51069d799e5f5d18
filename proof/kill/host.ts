import type { EventKind } from "express-affiliate";
import { diskOutbox } from "express-affiliate/disk";
import { say } from "../shared/child.js";
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
  readonly task: "track" | "drain";
}

/** A host: tracks until it is killed, or sends what others left. Prints each receipt at once. */
export async function runHost({ url, directory, name, task }: HostOptions): Promise<void> {
  const tracker = trackerOf(url, {
    outbox: diskOutbox({ directory }),
    logger: { warn() {}, error: (line) => say({ error: String(line) }) },
  });

  if (task === "track") {
    for (let visitor = 0; visitor < VISITORS; visitor++) void visit(`${name}-${visitor}`);
    return;
  }
  while (tracker.stats().queued > 0) await tracker.flush({ timeoutMs: 1_000 });
  for (const letter of await tracker.deadLetters.list({ limit: 1_000_000 })) {
    const { id, reason, event } = letter;
    say({ dead: id, reason, nth: "leadValue" in event ? event.leadValue : 0 });
  }
  await tracker.close();

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
