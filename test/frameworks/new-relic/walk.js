import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import { startCollector } from "./collector.js";

const { port, cert, close } = await startCollector();
Object.assign(process.env, { COLLECTOR_PORT: port, COLLECTOR_CERT: cert });
const { default: newrelic } = await import("newrelic");
// Until then it follows no request.
await once(newrelic.agent, "started");

const { arrives, referred, tracker } = await import("./journey.js");
await import("./json-walk.js");

test("an attempt is in no visitor's transaction, although the visitor's goes on", async () => {
  const visitor = await referred("DAVE");
  const transactions = {};
  for (const name of ["queued", "attempt"])
    tracker.on(name, () => {
      transactions[name] = newrelic.getTraceMetadata().traceId;
    });
  const payment = { id: "slow", email: "dave@shop.example" };
  assert.equal((await visitor.post("/slow-checkout", payment)).status, 204);
  await arrives({ kind: "payment", customerEmail: payment.email, affiliateReference: "DAVE" });
  assert.ok(transactions.queued);
  assert.deepEqual(transactions, { queued: transactions.queued, attempt: undefined });
  await new Promise((resolve) => newrelic.shutdown({ collectPendingData: false }, resolve));
  close();
});
