import { diskOutbox } from "express-affiliate/disk";
import { say } from "../../shared/child.js";
import { trackerOf } from "../../shared/tracker.js";

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

async function visit(sessionId: string): Promise<void> {
  const email = `${sessionId}@shop.example`;
  await tracker.trackClick({ affiliateReference: "ALICE" }, { sessionId });
  await tracker.trackRegistration({ email, customerId: sessionId }, { sessionId });
  await tracker.trackPayment({ paymentId: sessionId, customerEmail: email, leadValue: 1 }, { sessionId });
}
