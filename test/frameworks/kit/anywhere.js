/** What the package does wherever it runs, without a test runner. Prints a line for each fact, and ends by itself. */
import assert from "node:assert/strict";
import { AsyncLocalStorage } from "node:async_hooks";
import { once } from "node:events";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import express from "express";
import { affiliate, memoryOutbox } from "express-affiliate";
import { diskOutbox } from "express-affiliate/disk";
import { createSandbox } from "express-affiliate/sandbox";

const timeoutMs = 30_000;
const visitor = new AsyncLocalStorage();

async function startShop(sandbox, outbox) {
  const { url: baseUrl, clientId, apiKey } = sandbox;
  const tracker = affiliate({ baseUrl, clientId, apiKey, outbox, logger: { warn() {}, error() {} } });
  const app = express();
  app.use(tracker, (req, _res, next) => visitor.run(req.query.id, next));
  app.post(
    "/checkout",
    tracker.onPayment(async (req, res) => {
      res.sendStatus(204);
      return { paymentId: req.query.id, customerEmail: `${req.query.id}@shop.example`, leadValue: 19.9 };
    }),
  );
  const server = app.listen(0, "127.0.0.1");
  await once(server, "listening");
  const origin = `http://127.0.0.1:${server.address().port}`;

  async function pay(id) {
    const { status } = await fetch(`${origin}/checkout?id=${id}`, {
      method: "POST",
      headers: { cookie: `svc_session_id=${id}` },
    });
    assert.equal(status, 204);
    return { kind: "payment", customerEmail: `${id}@shop.example` };
  }

  return { tracker, server, pay };
}

const isLike = (notice, fields) => Object.keys(fields).every((name) => notice[name] === fields[name]);

async function factsWith(name, outbox) {
  const sandbox = await createSandbox();
  const { tracker, server, pay } = await startShop(sandbox, outbox);
  const contexts = new Set();
  tracker.on("attempt", () => contexts.add(visitor.getStore()));
  const arrives = (expected) => sandbox.ledger.waitFor(expected, { timeoutMs });
  const told = (name, fields) =>
    new Promise((resolve) => tracker.on(name, (notice) => isLike(notice, fields) && resolve(notice)));
  const fact = (text) => console.log(`fact: with ${name}, ${text}`);

  await tracker.trackClick({ affiliateReference: "ALICE", clickId: "c1", sessionId: "credited" });
  const payment = await arrives(await pay("credited"));
  assert.equal(payment.affiliateReference, "ALICE");
  fact("a payment is credited to the affiliate");

  await sandbox.fail("down");
  const paused = told("paused", {});
  await tracker.trackClick({ affiliateReference: "BOB", clickId: "c2", sessionId: "late" });
  await paused;
  await sandbox.fail("ok");
  await arrives({ kind: "click", affiliateReference: "BOB" });
  fact("an event waits while the service is down");

  await sandbox.fail("reset-after");
  const dead = told("dead", { sessionId: "doubtful" });
  const doubtful = await pay("doubtful");
  assert.equal((await dead).reason, "unconfirmed");
  await sandbox.fail("ok");
  await arrives(await pay("next"));
  assert.equal(sandbox.ledger.payments({ customerEmail: doubtful.customerEmail }).length, 1);
  fact("a payment whose answer is lost is held, and not sent again");

  assert.deepEqual([...contexts], [undefined]);
  fact("delivery runs in no visitor's context");

  await sandbox.fail("hang");
  const attempt = told("attempt", { sessionId: "unanswered" });
  await pay("unanswered");
  await attempt;
  const { left } = await tracker.close({ timeoutMs: 1_000 });
  // Held, or left if it had not been sent yet; and the doubtful one is held.
  assert.equal(left + tracker.stats().dead.unconfirmed, 2);
  fact("`close` ends while the service is silent");

  server.close();
  server.closeAllConnections();
  await sandbox.close();
}

async function main() {
  await factsWith("memoryOutbox", memoryOutbox());
  await factsWith("diskOutbox", diskOutbox({ directory: mkdtempSync(join(tmpdir(), "anywhere-")) }));
  console.log("ended");
}

main();
