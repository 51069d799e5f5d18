// @ts-check
// `npm run example` starts the shop; `npm run example -- --once` walks a visitor through it and checks what was recorded.
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { serve } from "./serve.js";
import { walk } from "./walk.js";

const once = process.argv.includes("--once");
const data = fileURLToPath(new URL(".data", import.meta.url));
const example = await serve(once ? {} : { data }).catch((error) => {
  console.error(`The example does not start: ${error.message}`);
  console.error(`If it is running already, end it first. Remove ${data} to start anew, on other ports.`);
  process.exit(1);
});
const { sandbox, tracker, shopUrl, dashboardUrl } = example;

if (once) {
  try {
    await walkOnce();
  } finally {
    await example.close();
  }
} else {
  console.log(`
  The shop              ${shopUrl}
  The tracking service  ${sandbox.inspectorUrl}
  The shop's dashboard  ${dashboardUrl} (for this machine alone)

  1. Open the tracking service's page, and keep it beside the shop.
  2. Follow an affiliate's link:  ${shopUrl}/?ref=ALICE (by the browser snippet)
                             or:  ${shopUrl}/welcome?via=ALICE (by the server)
  3. Sign up, and buy something. Reload the last page: it stays one payment.
  4. Have the service fail at the press of a button, and buy again: the shop does not notice.
  5. Have it fail with "reset-after", and buy: whether the payment arrived is yours to find out, and to decide in the dashboard.
  6. Subscribe to the tea, and let a month pass: the payment comes by webhook, and is ALICE's still.

  Ctrl-C ends both, in order; kill -9 ${process.pid} at any moment. Either way nothing that was paid is lost, and
  npm run example goes on where it was, at the same addresses.
`);
  const suggest = suggestions();
  tracker.on("delivered", ({ kind, email }) => {
    console.log(`  recorded: ${kind}${email ? ` of ${email}` : ""}`);
    suggest(kind);
  });
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
  const said = new Set();
  /** @type {Record<string, string>} */
  const next = {
    click: "sign up in the shop.",
    registration: `buy something, and look at ${sandbox.inspectorUrl}`,
    payment: `press "down" at ${sandbox.inspectorUrl} and buy something else.`,
    dead: `decide what becomes of it at ${dashboardUrl}`,
    retry: `kill -9 ${process.pid}, and npm run example: the payment is not lost.`,
  };
  /** @param {string} what */
  return function suggest(what) {
    if (said.has(what) || !next[what]) return;
    said.add(what);
    console.log(`    next: ${next[what]}`);
  };
}

async function walkOnce() {
  const email = "grace@customers.example";
  const { sessionId } = await walk(shopUrl, { reference: "ALICE", name: "Grace", email });
  await tracker.flush();

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
    "one registration, one payment, one renewal, all linked to the click",
  );
  assert.equal(status.hasAffiliate, true);
  assert.equal(status.affiliateReference, "ALICE");
  assert.equal(status.clickId, click?.id);
  console.log("Click, registration, payment and renewal are one chain.");
}
