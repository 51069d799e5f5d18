import type { Payment } from "express-affiliate";
import { expect, it } from "vitest";
import { ISO_4217, majorUnits, payments } from "../../docs/gateways/amounts.js";
import { textOf } from "../helpers/docs/pages.js";
import { pageToRun } from "../helpers/docs/run.js";
import { startShop } from "../helpers/docs/shop.js";

const asPayment: Record<string, (object: never) => Omit<Payment, "customerEmail">> = payments;
const page = pageToRun("docs/money.md");

it("says what becomes of each kind of amount", async () => {
  const { tracker, sandbox } = await startShop();
  const payment = { customerEmail: "ada@shop.example" };
  const rows = [...textOf("docs/money.md").matchAll(/^\| .+? \| (`.+?)(?:, as .+?)? \| (.+?) \|$/gm)];
  const outcomes: string[] = [];
  for (const [, examples = "", becomes = ""] of rows) {
    for (const [, example = ""] of examples.matchAll(/`(.+?)`/g)) {
      const leadValue = new Function(`return ${example}`)();
      const receipt = await tracker.trackPayment(
        { ...payment, paymentId: example, leadValue },
        { sessionId: "s1" },
      );
      const [, outcome = "queued"] = /outcome: "(\w+)"/.exec(becomes) ?? [];
      expect(receipt, example).toMatchObject({ outcome });
      outcomes.push(outcome);
    }
  }
  expect([...new Set(outcomes)]).toEqual(["queued", "skipped", "rejected"]);
  await tracker.flush();
  expect(sandbox.ledger.payments().map(({ leadValue }) => leadValue)).toEqual([19.9, 19.9, 0.3, 59.7]);
  expect(tracker.stats().skipped.zero).toBe(2);
});

it("divides by 100 what gateways count in hundredths, if Intl has no decimals", () => {
  const decimalsInIntl = (currency: string) =>
    new Intl.NumberFormat("en", { style: "currency", currency }).resolvedOptions().maximumFractionDigits;
  const trap = Intl.supportedValuesOf("currency").filter(
    (currency) => decimalsInIntl(currency) === 0 && !(currency in ISO_4217),
  );
  expect(trap).toEqual(expect.arrayContaining(["COP", "HUF", "IDR", "PKR"]));
  for (const currency of trap) expect(majorUnits(199_000, currency)).toBe(1_990);
});

const amount = { value: 199_000, currency: "CLP" };
const money = { currency: "GBP", value: "19.90" };
it.each<[string, object, string, number]>([
  ["stripe", { id: "in_1", amount_paid: 199_000, currency: "ugx" }, "in_1", 1_990],
  ["adyen", { pspReference: "8535", amount }, "8535", 1_990],
  ["razorpay", { id: "pay_1", amount: 295_990, currency: "KWD" }, "pay_1", 295.99],
  ["lemonSqueezy", { type: "orders", id: "1", attributes: { total_usd: 1_199 } }, "orders 1", 11.99],
  ["squareSdk", { id: "R2B3", amountMoney: { amount: 1_990n, currency: "JPY" } }, "R2B3", 1_990],
  [
    "paddle",
    { id: "txn_1", currency_code: "USD", details: { totals: { grand_total: "2499" } } },
    "txn_1",
    24.99,
  ],
  ["paypal", { id: "2GG27", amount: { currency_code: "HUF", value: "1990" } }, "2GG27", 1_990],
  ["mollie", { id: "tr_7", amount: money }, "tr_7", 19.9],
  ["braintree", { id: "bt_1", amount: "19.90", currencyIsoCode: "EUR" }, "bt_1", 19.9],
])("reports what %s counts", async (gateway, object, paymentId, leadValue) => {
  const { tracker, sandbox } = await startShop();
  const toPayment = asPayment[gateway] as (object: object) => Omit<Payment, "customerEmail">;
  const payment = { ...toPayment(object), customerEmail: "ada@shop.example" };
  expect(payment.paymentId).toBe(paymentId);
  expect(await tracker.trackPayment(payment, { sessionId: "s1" })).toMatchObject({ outcome: "queued" });
  await sandbox.ledger.waitFor({ kind: "payment", leadValue });
});

it("reports what the sample makes of an object", async () => {
  const { tracker, sandbox } = await startShop();
  const invoice = { id: "in_1", amount_paid: 1_990, currency: "eur" };
  const user = { email: "ada@shop.example", affiliate: { sessionId: "s1" } };
  await page.run("Minor units", { tracker, payments, invoice, user });
  await sandbox.ledger.waitFor({ kind: "payment", customerEmail: user.email, leadValue: 19.9 });
});

it("has a sample for each gateway of the payments page", () => {
  const nameOf = (gateway: string) =>
    gateway
      .replace(/ Billing|,.*| SDK/g, "")
      .replaceAll(" ", "")
      .toLowerCase();
  const gatewaysIn = (text: string) =>
    [...text.matchAll(/^\| ([A-Z]\w+[^|]*?) \| /gm)].map(([, name = ""]) => nameOf(name));
  const samples = Object.keys(payments).map((name) => nameOf(name.replace("Sdk", "")));
  expect(new Set(gatewaysIn(textOf("docs/payments.md")))).toEqual(new Set(samples));
});
