// @ts-check
// `npm run example` starts the shop; `npm run example -- --once` walks a visitor through it and checks what was recorded.
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { serve } from "./serve.js";
import { walk } from "./walk.js";

const PATIENCE_MS = 120_000;
const once = process.argv.includes("--once");
const data = fileURLToPath(new URL(".data", import.meta.url));
console.log("Starting the tracking service and the shop …");
// A machine may be busy with something else: the walk checks what happens, not how fast.
const example = await serve(once ? { attemptMs: PATIENCE_MS } : { data }).catch((error) => {
  console.error(`The example does not start: ${error.message}`);
  console.error(`If it is running already, end it first. Remove ${data} to start anew, on other ports.`);
  process.exit(1);
});
const { sandbox, tracker, shopUrl, dashboardUrl } = example;
tracker.on("delivered", ({ kind, email }) =>
  console.log(`  recorded: ${kind}${email ? ` of ${email}` : ""}`),
);

if (once) {
  try {
    await walkOnce();
  } finally {
    await example.close();
  }
} else {
  console.log(`
  Open  ${shopUrl}/?ref=ALICE

  You are a visitor whom ALICE's link has led to a shop. Sign up, and buy something. The foot of each page leads to
  what the service recorded, and to the shop's dashboard. This window says what happens, and what to try next.

  Ctrl-C ends both, in order; kill -9 ${process.pid} at any moment. Either way nothing that was paid is lost, and
  npm run example goes on where it was, at the same address.
`);
  const suggest = suggestions();
  tracker.on("delivered", ({ kind }) => suggest(kind));
  tracker.on("retry", ({ kind }) => {
    console.log(`  not recorded yet: ${kind}`);
    suggest("retry");
  });
  tracker.on("dead", ({ kind, reason }) => {
    console.log(`  given up: ${kind}, ${reason}`);
    suggest("dead");
  });
  tracker.on("skipped", ({ kind, reason }) => console.log(`  not reported: ${kind}, ${reason}`));
  process.once("SIGINT", () => void example.close());
  process.once("SIGTERM", () => void example.close());
}

/** What to try next, said once each. */
function suggestions() {
  /** @type {Record<string, string[]>} */
  const next = {
    click: ["sign up in the shop."],
    registration: [`buy something, and look at ${sandbox.inspectorUrl}`],
    payment: [
      `reload the last page: it stays one payment. Then make the service fail ("down") at ${sandbox.inspectorUrl}, and buy again.`,
      "subscribe to the tea, and let a month pass: the payment comes by webhook, and is ALICE's still.",
      "buy the blanket, and send it back: its payment waits in the outbox for 14 days, and is withdrawn.",
      `make the service fail with "reset-after", and buy: whether that payment arrived is yours to decide at ${dashboardUrl}`,
      `open ${shopUrl}/welcome?via=BOB in a private window: on this page the server makes the click, and no script.`,
    ],
    dead: [`decide what becomes of it at ${dashboardUrl}`],
    retry: [`kill -9 ${process.pid}, and npm run example: the payment is not lost.`],
  };
  /** @param {string} what */
  return function suggest(what) {
    const step = next[what]?.shift();
    if (step) console.log(`    next: ${step}`);
  };
}

/** Resolves once the service has taken so many events. @param {number} count */
function delivered(count) {
  return new Promise((resolve, reject) => {
    const fail = (/** @type {string} */ why) =>
      reject(new Error(`${why}. ${JSON.stringify(tracker.stats(), undefined, 2)}`));
    const timer = setTimeout(() => fail(`not ${count} events in ${PATIENCE_MS / 1_000} s`), PATIENCE_MS);
    let taken = 0;
    tracker.on("delivered", () => {
      if (++taken < count) return;
      clearTimeout(timer);
      resolve(undefined);
    });
    tracker.on("dead", ({ kind, reason }) => fail(`a ${kind} was given up: ${reason}`));
  });
}

async function walkOnce() {
  const email = "grace@customers.example";
  // A click, a sign-up, a payment and a renewal.
  const [{ sessionId }] = await Promise.all([
    walk(shopUrl, { reference: "ALICE", name: "Grace", email }),
    delivered(4),
  ]);

  const status = await tracker.client.status(sessionId);
  const clicks = sandbox.ledger.clicks();
  const leads = sandbox.ledger.leads();
  console.log("The service recorded:");
  for (const { id, affiliateReference } of clicks) console.log(`  click ${id} through ${affiliateReference}`);
  for (const { kind, customerEmail, leadValue, linkedClick, linkedThrough } of leads) {
    const amount = leadValue === null ? "" : ` of ${leadValue}`;
    console.log(
      `  ${kind}${amount} by ${customerEmail}, linked to click ${linkedClick} through ${linkedThrough}`,
    );
  }
  console.log(`  status: ${JSON.stringify(status)}`);

  const [click] = clicks;
  assert.equal(clicks.length, 1, "one click");
  assert.deepEqual(
    leads.map(({ kind, customerEmail, linkedClick }) => ({ kind, customerEmail, linkedClick })),
    [
      { kind: "registration", customerEmail: email, linkedClick: click?.id },
      { kind: "payment", customerEmail: email, linkedClick: click?.id },
      { kind: "payment", customerEmail: email, linkedClick: click?.id },
    ],
    "one registration, one payment, one renewal, all linked to the click; nothing of what was sent back",
  );
  assert.equal(tracker.stats().scheduled?.count, 0, "what was sent back waits no more");
  assert.equal(status.hasAffiliate, true);
  assert.equal(status.affiliateReference, "ALICE");
  assert.equal(status.clickId, click?.id);
  console.log("Click, registration, payment and renewal are one chain.");
}
