import { affiliate } from "express-affiliate";
import { diskOutbox } from "express-affiliate/disk";
import { API_KEY, keyOf } from "../../shared/keys.js";

/**
 * A host with a disk outbox, at its default lease. Reports a click, a registration and a payment of each of so many visitors, where
 * it is told a number, and then delivers until it is killed. Prints the id of each event that becomes a dead letter.
 */
const [url = "", directory = "", visitors = "0"] = process.argv.slice(2);
const tracker = affiliate({
  baseUrl: url,
  clientId: 1,
  apiKey: API_KEY,
  outbox: diskOutbox({ directory }),
  logger: { warn() {}, error: console.error },
});

tracker.on("dead", ({ id }) => console.log(`held ${keyOf(id)}`));
await Promise.all(Array.from({ length: Number(visitors) }, (_, visitor) => visit(`visitor-${visitor}`)));
console.log("ready");
setInterval(() => {}, 1_000);

async function visit(sessionId: string): Promise<void> {
  const email = `${sessionId}@shop.example`;
  await tracker.trackClick({ affiliateReference: "ALICE" }, { sessionId });
  await tracker.trackRegistration({ email, customerId: sessionId }, { sessionId });
  await tracker.trackPayment({ paymentId: sessionId, customerEmail: email, leadValue: 1 }, { sessionId });
}
