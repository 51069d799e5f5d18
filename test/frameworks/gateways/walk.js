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
  ...{
    PAYPAL_URL: `http://localhost:${api.address().port}`,
    PAYPAL_TOKEN: "token",
    PAYPAL_ID: "WH-1",
    LEMON_SQUEEZY_SECRET: secret,
  },
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
const ada = "ada-of-";
const money = { amount: 1_990, currency: "EUR" };

/** For each gateway: its payment's event, and what goes with the body. */
const events = {
  stripe: {
    event: {
      ...{ id: "evt_1", object: "event", type: "charge.succeeded", api_version: "2026-10-28.endive" },
      data: {
        object: {
          id: "ch_1",
          captured: true,
          amount_captured: 1_990,
          currency: "eur",
          customer: `${ada}stripe`,
        },
      },
    },
    sign: (payload) => ({
      "stripe-signature": new Stripe("sk_test_1").webhooks.generateTestHeaderString({ payload, secret }),
    }),
  },
  paypal: {
    event: {
      ...{ id: "WH-2", event_type: "PAYMENT.SALE.COMPLETED" },
      resource: {
        id: "S1",
        amount: { total: "19.90", currency: "EUR" },
        billing_agreement_id: `${ada}paypal`,
      },
    },
    sign: () => ({ "paypal-transmission-sig": "signed" }),
  },
  paddle: {
    event: {
      ...{ event_id: "evt_1", event_type: "transaction.completed", occurred_at: "2026-11-01T00:00:00Z" },
      data: {
        ...{ id: "txn_1", customer_id: `${ada}paddle`, currency_code: "EUR", items: [], payments: [] },
        details: {
          totals: { grand_total: "1990", currency_code: "EUR" },
          tax_rates_used: [],
          line_items: [],
        },
      },
    },
    sign(body) {
      const ts = Math.floor(Date.now() / 1_000);
      return { "paddle-signature": `ts=${ts};h1=${hmac("hex", `${ts}:${body}`)}` };
    },
  },
  lemonSqueezy: {
    event: {
      meta: { event_name: "order_created" },
      data: {
        ...{ type: "orders", id: "1" },
        attributes: { status: "paid", total: 1_990, currency: "EUR", customer_id: `${ada}lemonSqueezy` },
      },
    },
    sign: (body) => ({ "x-signature": hmac("hex", body) }),
  },
  razorpay: {
    event: {
      ...{ entity: "event", event: "payment.captured" },
      payload: { payment: { entity: { id: "pay_1", ...money, customer_id: `${ada}razorpay` } } },
    },
    sign: (body) => ({ "x-razorpay-signature": hmac("hex", body) }),
  },
  square: {
    event: {
      type: "payment.updated",
      data: {
        object: {
          payment: { id: "sq_1", status: "COMPLETED", amount_money: money, customer_id: `${ada}square` },
        },
      },
    },
    sign: (body) => ({ "x-square-hmacsha256-signature": hmac("base64", squareUrl + body) }),
  },
};

async function post(name, body, headers) {
  const { port } = app.server.address();
  const type = body.startsWith("{") ? "application/json" : "application/x-www-form-urlencoded";
  const init = { method: "POST", headers: { "content-type": type, ...headers }, body };
  return (await fetch(`http://localhost:${port}/${name}/webhooks/payments`, init)).status;
}

/** A customer whom ALICE has sent. */
async function customerOf(name) {
  const visitor = await referred("ALICE");
  const { users } = app.shops.find((shop) => shop.name === name);
  const email = `${name}@customers.example`;
  const ids = {
    clickId: visitor.cookies.get("svc_click_id"),
    sessionId: visitor.cookies.get("svc_session_id"),
  };
  users.set(`${ada}${name}`, { email, affiliate: ids });
  return { email };
}

async function isReported(name, body, headers = {}) {
  const customer = await customerOf(name);
  for (let nth = 0; nth < 2; nth++) assert.equal(await post(name, body, headers), 204);
  await credited("payment", customer, "ALICE", { linkedThrough: "sessionId", leadValue: 19.9 });
  assert.equal(await reported("payment", { customerEmail: customer.email }), 1);
}

for (const [name, { event, sign }] of Object.entries(events)) {
  test(`a payment that ${name} has signed is the affiliate's, once; another is refused`, async () => {
    const body = JSON.stringify(event);
    await isReported(name, body, sign(body));
    const forged = Object.keys(sign(body)).map((header) => [header, "ts=1;h1=forged"]);
    for (const headers of [{}, Object.fromEntries(forged)])
      assert.equal(await post(name, body, headers), 400);
    const other = body.replace("1990", "9990");
    if (other !== body) assert.equal(await post(name, other, sign(body)), 400);
  });
}

test("a payment that Adyen has signed is the affiliate's, once; another is refused", async () => {
  const item = {
    ...{ eventCode: "AUTHORISATION", success: "true", pspReference: "8535516988", originalReference: "" },
    ...{ merchantAccountCode: "Shop", merchantReference: `${ada}adyen` },
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
  await isReported("adyen", bodyOf({}));
  assert.equal(await post("adyen", bodyOf({ merchantReference: "forged" })), 400);
});

test("a subscription's payment that Braintree has signed is the affiliate's, once; another is refused", async () => {
  // Braintree's own sample names neither a currency nor a customer.
  braintree.webhookTesting.subjectXmlFor = () => `<subscription>
    <transactions type="array"><transaction>
      <id>bt1</id><type>sale</type><status>submitted_for_settlement</status><amount>19.90</amount>
      <currency-iso-code>EUR</currency-iso-code><customer><id>${ada}braintree</id></customer>
    </transaction></transactions>
  </subscription>`;
  const kind = "subscription_charged_successfully";
  const { bt_signature, bt_payload } = await braintree.webhookTesting.sampleNotification(kind);
  const form = (signature) => String(new URLSearchParams({ bt_signature: signature, bt_payload }));
  await isReported("braintree", form(bt_signature));
  assert.equal(await post("braintree", form("public|forged")), 400);
});

test("a payment that Mollie has, by its id, is the affiliate's, once; an unknown id is refused", async () => {
  const paid = { id: "tr_1", status: "paid", amount: { currency: "EUR", value: "19.90" } };
  // Its client speaks HTTPS alone.
  mollie.payments.get = async (id) => {
    if (id !== paid.id) throw new Error("No payment exists with this token.");
    return { resource: "payment", ...paid, customerId: `${ada}mollie` };
  };
  await isReported("mollie", "id=tr_1");
  assert.equal(await post("mollie", "id=tr_unknown"), 400);
});
