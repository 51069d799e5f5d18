import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import { after, test } from "node:test";
import adyen from "@adyen/api-library";
import Stripe from "stripe";

const secret = "secret-of-the-walk";
/** PayPal's API, so far as it is called here. */
const api = createServer(async (req, res) => {
  let body = "";
  for await (const chunk of req) body += chunk;
  res.setHeader("content-type", "application/json").end(JSON.stringify(verificationOf(body)));
}).listen(0);
await once(api, "listening");
after(() => api.close());
const squareUrl = "https://shop.example/webhooks/payments";
Object.assign(process.env, {
  ...{ STRIPE_KEY: "sk_test_1", STRIPE_WEBHOOK_SECRET: secret, PADDLE_KEY: "pdl_1", PADDLE_SECRET: secret },
  ...{ MOLLIE_KEY: "test_dHar4XY7LxsDOtmnkVtjNVWXLSlXsM", RAZORPAY_SECRET: secret },
  ...{ PAYPAL_URL: `http://localhost:${api.address().port}`, PAYPAL_TOKEN: "token", PAYPAL_ID: "WH-1" },
  LEMON_SQUEEZY_SECRET: secret,
  ...{ BRAINTREE_MERCHANT: "m", BRAINTREE_PUBLIC_KEY: "public", BRAINTREE_PRIVATE_KEY: "private" },
  ...{ SQUARE_KEY: secret, SQUARE_URL: squareUrl, ADYEN_KEY: Buffer.from(secret).toString("hex") },
});
const { app, credited, referred, reported } = await import("./journey.js");
const { braintree, mollie } = await import("./verified.js");

/** As PayPal verifies: all that it has sent must come back. */
function verificationOf(body) {
  const { webhook_event, ...rest } = JSON.parse(body);
  const isSigned =
    rest.transmission_sig === "signed" && rest.webhook_id === "WH-1" && webhook_event.id === "WH-2";
  return { verification_status: isSigned ? "SUCCESS" : "FAILURE" };
}

const hmac = (encoding, text) => createHmac("sha256", secret).update(text).digest(encoding);
const money = { amount: 1_990, currency: "EUR" };

/** For each gateway whose webhook is JSON: a payment's event, and the headers that sign its body. */
const events = {
  stripe: [
    {
      ...{ id: "evt_1", object: "event", type: "charge.succeeded", api_version: "2026-10-28.endive" },
      data: {
        object: { id: "ch_1", captured: true, amount_captured: 1_990, currency: "eur", customer: "ada" },
      },
    },
    (payload) => ({
      "stripe-signature": new Stripe("sk_test_1").webhooks.generateTestHeaderString({ payload, secret }),
    }),
  ],
  paypal: [
    {
      ...{ id: "WH-2", event_type: "PAYMENT.SALE.COMPLETED" },
      resource: { id: "S1", amount: { total: "19.90", currency: "EUR" }, billing_agreement_id: "ada" },
    },
    () => ({ "paypal-transmission-sig": "signed" }),
  ],
  paddle: [
    {
      ...{ event_id: "evt_1", event_type: "transaction.completed", occurred_at: "2026-11-01T00:00:00Z" },
      data: {
        ...{ id: "txn_1", customer_id: "ada", currency_code: "EUR", items: [], payments: [] },
        details: {
          totals: { grand_total: "1990", currency_code: "EUR" },
          tax_rates_used: [],
          line_items: [],
        },
      },
    },
    (body) => {
      const ts = Math.floor(Date.now() / 1_000);
      return { "paddle-signature": `ts=${ts};h1=${hmac("hex", `${ts}:${body}`)}` };
    },
  ],
  lemonSqueezy: [
    {
      meta: { event_name: "order_created" },
      data: {
        ...{ type: "orders", id: "1" },
        attributes: { status: "paid", total: 1_990, currency: "EUR", customer_id: "ada" },
      },
    },
    (body) => ({ "x-signature": hmac("hex", body) }),
  ],
  razorpay: [
    {
      ...{ entity: "event", event: "payment.captured" },
      payload: { payment: { entity: { id: "pay_1", ...money, customer_id: "ada" } } },
    },
    (body) => ({ "x-razorpay-signature": hmac("hex", body) }),
  ],
  square: [
    {
      type: "payment.updated",
      data: {
        object: { payment: { id: "sq_1", status: "COMPLETED", amount_money: money, customer_id: "ada" } },
      },
    },
    (body) => ({ "x-square-hmacsha256-signature": hmac("base64", squareUrl + body) }),
  ],
};

async function post(name, body, headers) {
  const { port } = app.server.address();
  const type = body.startsWith("{") ? "application/json" : "application/x-www-form-urlencoded";
  const init = { method: "POST", headers: { "content-type": type, ...headers }, body };
  return (await fetch(`http://localhost:${port}/${name}/webhooks/payments`, init)).status;
}

/** The body is a payment of a customer whom ALICE has sent, however often it comes; forged ones are refused. */
async function isReported(name, [body, headers = {}], ...forged) {
  const { cookies } = await referred("ALICE");
  const customer = { email: `${name}@customers.example` };
  const affiliate = { clickId: cookies.get("svc_click_id"), sessionId: cookies.get("svc_session_id") };
  app.shops.find((shop) => shop.name === name).users.set("ada", { ...customer, affiliate });
  for (let nth = 0; nth < 2; nth++) assert.equal(await post(name, body, headers), 204);
  await credited("payment", customer, "ALICE", { linkedThrough: "sessionId", leadValue: 19.9 });
  assert.equal(await reported("payment", { customerEmail: customer.email }), 1);
  for (const [other, headers = {}] of forged) assert.equal(await post(name, other, headers), 400);
}

for (const [name, [event, sign]] of Object.entries(events)) {
  test(`a payment that ${name} has signed is the affiliate's, once; another is refused`, async () => {
    const body = JSON.stringify(event);
    const headers = sign(body);
    const forged = Object.fromEntries(Object.keys(headers).map((header) => [header, "ts=1;h1=forged"]));
    const dearer = body.includes("1990") ? [[body.replace("1990", "9990"), headers]] : [];
    await isReported(name, [body, headers], [body], [body, forged], ...dearer);
  });
}

test("a payment that Adyen has signed is the affiliate's, once; another is refused", async () => {
  const item = {
    ...{ eventCode: "AUTHORISATION", success: "true", pspReference: "8535516988", originalReference: "" },
    ...{ merchantAccountCode: "Shop", merchantReference: "ada" },
    amount: { currency: "EUR", value: 1_990 },
  };
  const hmacSignature = new adyen.hmacValidator().calculateHmac(item, process.env.ADYEN_KEY);
  const bodyOf = (fields) =>
    JSON.stringify({
      live: "false",
      notificationItems: [
        { NotificationRequestItem: { ...item, additionalData: { hmacSignature }, ...fields } },
      ],
    });
  await isReported("adyen", [bodyOf({})], [bodyOf({ merchantReference: "forged" })]);
});

test("a subscription's payment that Braintree has signed is the affiliate's, once; another is refused", async () => {
  // Braintree's own sample names neither a currency nor a customer.
  braintree.webhookTesting.subjectXmlFor = () => `<subscription>
    <transactions type="array"><transaction>
      <id>bt1</id><type>sale</type><status>submitted_for_settlement</status><amount>19.90</amount>
      <currency-iso-code>EUR</currency-iso-code><customer><id>ada</id></customer>
    </transaction></transactions>
  </subscription>`;
  const kind = "subscription_charged_successfully";
  const { bt_signature, bt_payload } = await braintree.webhookTesting.sampleNotification(kind);
  const form = (signature) => String(new URLSearchParams({ bt_signature: signature, bt_payload }));
  await isReported("braintree", [form(bt_signature)], [form("public|forged")]);
});

test("a payment that Mollie has, by its id, is the affiliate's, once; an unknown id is refused", async () => {
  const paid = { id: "tr_1", status: "paid", amount: { currency: "EUR", value: "19.90" } };
  // Its client speaks HTTPS alone.
  mollie.payments.get = async (id) => {
    if (id !== paid.id) throw new Error("No payment exists with this token.");
    return { resource: "payment", ...paid, customerId: "ada" };
  };
  await isReported("mollie", ["id=tr_1"], ["id=tr_unknown"]);
});
