// The disk outbox as a stranger would meet it: an event that one process leaves behind is delivered by the next.
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { affiliate } from "express-affiliate";
import { diskOutbox } from "express-affiliate/disk";
import { createSandbox } from "express-affiliate/sandbox";

const directory = await mkdtemp(join(tmpdir(), "consumer-"));
const payment = { paymentId: "o1", customerEmail: "ada@shop.example", leadValue: 19.9 };

const sandbox = await createSandbox();
const before = affiliate({
  baseUrl: sandbox.url,
  clientId: 1001,
  outbox: diskOutbox({ directory }),
  delivery: false,
});
assert.equal((await before.trackPayment(payment, { sessionId: "s1" })).outcome, "queued");
assert.deepEqual(await before.close({ timeoutMs: 2_000 }), { left: 1, durable: true });

const after = affiliate({ baseUrl: sandbox.url, clientId: 1001, outbox: diskOutbox({ directory }) });
await sandbox.ledger.waitFor({ kind: "payment", customerEmail: payment.customerEmail });
assert.equal((await after.flush()).settled, true);
assert.equal((await after.trackPayment(payment, { sessionId: "s1" })).outcome, "duplicate");
assert.deepEqual(await after.close(), { left: 0, durable: true });
await sandbox.close();
await rm(directory, { recursive: true });
