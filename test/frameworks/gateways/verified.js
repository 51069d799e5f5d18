import { createHmac, timingSafeEqual } from "node:crypto";
import adyen from "@adyen/api-library";
import { createMollieClient } from "@mollie/api-client";
import { Paddle } from "@paddle/paddle-node-sdk";
import { BraintreeGateway, Environment } from "braintree";
import Razorpay from "razorpay";
import { WebhooksHelper } from "square";
import Stripe from "stripe";

const { env } = process;
const stripe = new Stripe(env.STRIPE_KEY);
const paddle = new Paddle(env.PADDLE_KEY);
export const mollie = createMollieClient({ apiKey: env.MOLLIE_KEY });
const hmacValidator = new adyen.hmacValidator();
export const braintree = new BraintreeGateway({
  environment: Environment.Sandbox,
  merchantId: env.BRAINTREE_MERCHANT,
  publicKey: env.BRAINTREE_PUBLIC_KEY,
  privateKey: env.BRAINTREE_PRIVATE_KEY,
});
/** Calls PayPal's API with an access token. PayPal compares the event's bytes, so pass them on as they came. */
const paypal = (path, body) =>
  fetch(env.PAYPAL_URL + path, {
    method: "POST",
    headers: { authorization: `Bearer ${env.PAYPAL_TOKEN}`, "content-type": "application/json" },
    body,
  }).then((answer) => answer.json());

/** Of each gateway: resolves with its event, or with nothing if it did not sign it; or rejects. */
export const verified = {
  stripe: async (req) =>
    stripe.webhooks.constructEvent(req.body, req.get("stripe-signature"), env.STRIPE_WEBHOOK_SECRET),
  paypal: async (req) => {
    const names = ["auth_algo", "cert_url", "transmission_id", "transmission_sig", "transmission_time"];
    const values = names.map((name) => [name, req.get(`paypal-${name.replace("_", "-")}`)]);
    const given = JSON.stringify({ webhook_id: env.PAYPAL_ID, ...Object.fromEntries(values) });
    const body = `${given.slice(0, -1)},"webhook_event":${req.body}}`;
    const answer = await paypal("/v1/notifications/verify-webhook-signature", body);
    return answer.verification_status === "SUCCESS" && JSON.parse(req.body);
  },
  paddle: async (req) =>
    paddle.webhooks.unmarshal(`${req.body}`, env.PADDLE_SECRET, req.get("paddle-signature")),
  lemonSqueezy: async (req) => {
    const ours = createHmac("sha256", env.LEMON_SQUEEZY_SECRET).update(req.body).digest("hex");
    return timingSafeEqual(Buffer.from(ours), Buffer.from(req.get("x-signature"))) && JSON.parse(req.body);
  },
  braintree: async (req) => {
    const form = new URLSearchParams(`${req.body}`);
    return braintree.webhookNotification.parse(form.get("bt_signature"), form.get("bt_payload"));
  },
  mollie: async (req) => mollie.payments.get(new URLSearchParams(`${req.body}`).get("id")),
  razorpay: async (req) => {
    const signed = [`${req.body}`, req.get("x-razorpay-signature"), env.RAZORPAY_SECRET];
    return Razorpay.validateWebhookSignature(...signed) && JSON.parse(req.body);
  },
  square: async (req) => {
    const signatureHeader = req.get("x-square-hmacsha256-signature");
    const signed = { signatureHeader, signatureKey: env.SQUARE_KEY, notificationUrl: env.SQUARE_URL };
    const isSquare = await WebhooksHelper.verifySignature({ ...signed, requestBody: `${req.body}` });
    return isSquare && JSON.parse(req.body);
  },
  adyen: async (req) => {
    const [{ NotificationRequestItem: item }] = JSON.parse(req.body).notificationItems;
    return hmacValidator.validateHMAC(item, env.ADYEN_KEY) && item;
  },
};
