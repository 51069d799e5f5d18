import { diskOutbox } from "express-affiliate/disk";
import { say } from "../../shared/child.js";
import { trackerOf, trackNth } from "../../shared/tracker.js";

export interface DiskHostOptions {
  readonly url: string;
  readonly directory: string;
  readonly visitors: number;
}

/**
 * A host with a disk outbox, at its default lease. Reports a click, a registration and a payment of
 * each of so many visitors, and then delivers until it is killed. Says the id of each event that
 * becomes a dead letter.
 */
const { url, directory, visitors }: DiskHostOptions = JSON.parse(process.argv[2] ?? "");
const tracker = trackerOf(url, {
  outbox: diskOutbox({ directory }),
  logger: { warn() {}, error: console.error },
});

tracker.on("dead", ({ id }) => say({ dead: id }));
await Promise.all(Array.from({ length: visitors }, (_, visitor) => visit(`visitor-${visitor}`)));
say({});
setInterval(() => {}, 1_000);

async function visit(name: string): Promise<void> {
  for (const kind of ["click", "registration", "payment"] as const) await trackNth(tracker, kind, name, 1);
}
