// The disk outbox as a stranger would meet it: what a process has reported before `kill -9` is delivered by the next one.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { affiliate } from "express-affiliate";
import { diskOutbox } from "express-affiliate/disk";
import { createSandbox } from "express-affiliate/sandbox";

const payment = { paymentId: "o1", customerEmail: "ada@shop.example", leadValue: 19.9 };
const patience = { timeoutMs: 60_000 };
const trackerOn = (directory, baseUrl, more) =>
  affiliate({ baseUrl, clientId: 1001, outbox: diskOutbox({ directory }), ...more });

const [reports] = process.argv.slice(2);
if (reports) {
  const tracker = trackerOn(reports, "http://127.0.0.1:9", { delivery: false });
  assert.equal((await tracker.trackPayment(payment, { sessionId: "s1" })).outcome, "queued");
  console.log("reported");
  setInterval(() => {}, 60_000);
} else {
  const directory = await mkdtemp(join(tmpdir(), "consumer-"));
  const before = spawn(process.execPath, [fileURLToPath(import.meta.url), directory], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = once(before, "exit");
  await Promise.race([once(before.stdout, "data"), ended]);
  before.kill("SIGKILL");
  await ended;

  const sandbox = await createSandbox();
  const after = trackerOn(directory, sandbox.url);
  await sandbox.ledger.waitFor({ kind: "payment", customerEmail: payment.customerEmail }, patience);
  assert.equal((await after.flush(patience)).settled, true);
  assert.equal((await after.trackPayment(payment, { sessionId: "s1" })).outcome, "duplicate");
  assert.deepEqual(await after.close(), { left: 0, durable: true });
  await sandbox.close();
  await rm(directory, { recursive: true });
}
