import { expect, it } from "vitest";
import { order } from "../helpers/conversions.js";
import { textOf } from "../helpers/docs/pages.js";
import { pageToRun, startShop } from "../helpers/docs/run.js";
import { startService } from "../helpers/service.js";

const page = pageToRun("docs/money.md");

it("docs/money.md says what becomes of each kind of amount", async () => {
  const { tracker, sandbox } = await startShop();
  const rows = [...textOf("docs/money.md").matchAll(/^\| (`.+`)(?:, or .+?)? \| (.+?) \|$/gm)];
  const outcomes: string[] = [];
  for (const [, examples = "", becomes = ""] of rows) {
    for (const [, example = ""] of examples.matchAll(/`(.+?)`/g)) {
      const leadValue = new Function(`return ${example}`)();
      const payment = { paymentId: example, customerEmail: "ada@shop.example", leadValue };
      const receipt = await tracker.trackPayment(payment, { sessionId: "s1" });
      const [, outcome = "queued", reason] = /nothing: `(\w+)`, `(\w+)`/.exec(becomes) ?? [];
      expect(receipt, example).toMatchObject(reason === undefined ? { outcome } : { outcome, reason });
      outcomes.push(outcome);
    }
  }
  expect([...new Set(outcomes)]).toEqual(["queued", "skipped", "rejected"]);
  await tracker.flush();
  expect(sandbox.ledger.payments().map(({ leadValue }) => leadValue)).toEqual([19.9, 19.9, 0.3]);
});

it("docs/money.md converts an amount by the gateway's decimals", async () => {
  expect(await page.run("Minor units")).toMatchObject({ leadValue: 1_990 });
});

it("docs/money.md keeps the service's own number with the order", async () => {
  let leadId = 0;
  const { url: baseUrl } = await startService(() => ({ success: true, leadId: ++leadId }));
  const { tracker } = await startShop({ baseUrl });
  const kept: object[] = [];
  await page.run("Refunds", { tracker, orders: { keepLead: (lead: object) => kept.push(lead) } });
  await tracker.trackRegistration({ email: "ada@shop.example" }, { clickId: "c1" });
  const receipt = await tracker.trackPayment(order, { clickId: "c1", sessionId: "s1" });
  await tracker.flush();
  expect(receipt).toMatchObject({ outcome: "queued" });
  expect(kept).toEqual([{ receiptId: (receipt as { id: string }).id, leadId: 2 }]);
});
