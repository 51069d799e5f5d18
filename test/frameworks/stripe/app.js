import { randomUUID } from "node:crypto";
import express from "express";
import Stripe from "stripe";
import { tracker } from "./tracker.js";

export const users = new Map();
/** Units of a currency for one euro. Yours come from where your accounts take theirs. */
const perEuro = { eur: 1, usd: 1.25, jpy: 160, kwd: 0.32, isk: 140 };
/** What a person is to correct in the service's dashboard. */
export const corrections = new Map();

const stripe = new Stripe(process.env.STRIPE_SECRET_KEY);
const app = express();

// #region webhook
// Before `express.json()`: the signature is over the bytes as they came.
app.post("/webhooks/stripe", express.raw({ type: "application/json" }), (req, res, next) => {
  let event;
  try {
    const signature = req.get("stripe-signature");
    event = stripe.webhooks.constructEvent(req.body, signature, process.env.STRIPE_WEBHOOK_SECRET);
  } catch {
    return void res.sendStatus(400);
  }
  // With 500 Stripe sends the webhook again.
  handle(event).then((done) => res.sendStatus(done ? 204 : 500), next);
});

async function handle({ type, data: { object } }) {
  if (type === "invoice.paid") return reportInvoice(object);
  if (type === "payment_intent.succeeded") return reportSale(object);
  if (type === "charge.refunded" && object.payment_intent) {
    await withdrawSale(object);
    return true;
  }
  if (type === "charge.refunded" || type === "charge.dispute.created") noteCorrection(type, object);
  return true;
}

async function reportInvoice(invoice) {
  const user = users.get(invoice.customer);
  if (!user) return true;
  const receipt = await tracker.trackPayment(
    {
      paymentId: invoice.id,
      customerEmail: user.email,
      leadValue: inEuros(invoice.amount_paid, invoice.currency),
    },
    user.affiliate,
  );
  return receipt.outcome !== "rejected" || receipt.reason === "invalid";
}
// #endregion

/** Stripe counts in hundredths, but for these currencies. */
const decimals = new Map([
  ...["bif", "clp", "djf", "gnf", "jpy", "kmf", "krw", "mga"].map((currency) => [currency, 0]),
  ...["pyg", "rwf", "vnd", "vuv", "xaf", "xof", "xpf"].map((currency) => [currency, 0]),
  ...["bhd", "jod", "kwd", "omr", "tnd"].map((currency) => [currency, 3]),
]);

// #region currencies
function inEuros(amount, currency) {
  const major = amount / 10 ** (decimals.get(currency) ?? 2);
  return Math.round((major / perEuro[currency]) * 100) / 100;
}
// #endregion

function noteCorrection(type, object) {
  const isRefund = type === "charge.refunded";
  const charge = isRefund ? object.id : object.charge;
  const amount = isRefund ? object.amount_refunded : object.amount; // of all refunds of this charge so far
  corrections.set(`${type} ${charge}`, { type, charge, amount: inEuros(amount, object.currency) });
}

// #region window
const WINDOW_MS = 14 * 24 * 60 * 60 * 1_000;

async function reportSale(intent) {
  const receipt = await tracker.trackPayment(
    {
      paymentId: intent.id,
      customerEmail: intent.receipt_email,
      leadValue: inEuros(intent.amount_received, intent.currency),
      notBefore: new Date(Date.now() + WINDOW_MS),
    },
    intent.metadata,
  );
  return receipt.outcome !== "rejected" || receipt.reason === "invalid";
}

async function withdrawSale(charge) {
  // Of a part of the amount: the rest is still a sale.
  const outcome = charge.refunded ? await tracker.cancelPayment(charge.payment_intent) : "sent";
  if (outcome === "sent") noteCorrection("charge.refunded", charge);
}
// #endregion

app.use(express.json(), tracker);

app.get("/", tracker.onClick(), (_req, res) => res.send("Welcome"));

app.post(
  "/signup",
  tracker.onRegistration((req, res) => {
    const { email } = req.body;
    const customer = `cus_${randomUUID()}`; // of stripe.customers.create({ email })
    users.set(customer, { email, customer, affiliate: req.affiliate.snapshot() });
    res.status(201).json({ customer });
    return { email };
  }),
);

export const server = app.listen(process.env.PORT ?? 3000);
