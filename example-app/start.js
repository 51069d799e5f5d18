// @ts-check
// `npm run example` starts the shop.
import { fileURLToPath } from "node:url";
import { serve } from "./serve.js";

const data = fileURLToPath(new URL(".data", import.meta.url));
console.log("Starting the tracking service and the shop …");
const example = await serve({ data }).catch((error) => {
  console.error(`The example does not start: ${error.message}`);
  console.error(`If it is running already, end it first. Remove ${data} to start anew, on other ports.`);
  process.exit(1);
});
const { sandbox, tracker, shopUrl, dashboardUrl } = example;
tracker.on("delivered", ({ kind, email }) =>
  console.log(`  recorded: ${kind}${email ? ` of ${email}` : ""}`),
);

console.log(`
  Open  ${shopUrl}/?ref=ALICE

  You are a visitor whom ALICE's link has led to a shop. Sign up, and buy something. The foot of each page leads to
  what the service recorded, and to the shop's dashboard. This window says what happens, and what to try next.

  Ctrl-C ends both, in order; kill -9 ${process.pid} at any moment. Either way nothing that was paid is lost, and
  npm run example goes on where it was, at the same address.
`);
/**
 * What to try next, said once each.
 *
 * @type {Record<string, string[]>}
 */
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

/** @param {string} what */
function suggest(what) {
  const step = next[what]?.shift();
  if (step) console.log(`    next: ${step}`);
}
