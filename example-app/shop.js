// @ts-check
// A small shop. What it does with express-affiliate is marked with "→"; the rest is what any shop has.
import { randomUUID } from "node:crypto";
import express from "express";
import { dashboard } from "express-affiliate/dashboard";
import { stripe } from "express-affiliate/gateways";
import session from "express-session";
import {
  checkoutPage,
  errorPage,
  homePage,
  renewedPage,
  returnedPage,
  thanksPage,
  welcomePage,
} from "./pages.js";

/** @import { Affiliate, Attribution } from "express-affiliate" */
/** @import { createGateway } from "./gateway.js" */
/** @import { Snippet } from "./pages.js" */
/** @typedef {{ id: string, email: string, name: string, affiliate: Attribution }} User */
/** @typedef {{ id: string, product: Product, buyer: User, total: number, paid: boolean }} Order */
/**
 * @typedef {{ id: string, name: string, price: number, blurb: string, monthly?: boolean,
 *   returnable?: boolean }} Product
 */

/** @type {readonly Product[]} */
export const products = [
  { id: "kettle", name: "Enamel kettle", price: 39.9, blurb: "Two litres, sings at the boil." },
  { id: "lamp", name: "Reading lamp", price: 64.5, blurb: "Warm light, a brass arm, one good switch." },
  {
    id: "blanket",
    name: "Wool blanket",
    price: 118,
    blurb: "Woven from the fleece of six unhurried sheep. Send it back within 14 days, if it is too warm.",
    returnable: true,
  },
  {
    id: "tea",
    name: "Tea, every month",
    price: 24,
    blurb: "A new tin each month, until you say stop.",
    monthly: true,
  },
];

const RETURN_MS = 14 * 24 * 60 * 60 * 1_000;

/**
 * @param {object} parts
 * @param {Affiliate} parts.tracker
 * @param {ReturnType<typeof createGateway>} parts.gateway The payment gateway, which charges
 * subscriptions by itself.
 * @param {Snippet} [parts.snippet] The service's browser snippet, for the home page.
 * @param {string} parts.recordsUrl The page of the sandbox, to which each page of the shop leads.
 * @returns {import("express").Express}
 */
export function createShop({ tracker, gateway, snippet, recordsUrl }) {
  const app = express();
  /** @type {Map<string, User>} */
  const users = new Map();
  /** @type {Map<string, Order>} */
  const orders = new Map();
  // Payments that the tracker calls invalid. They would be again: a person looks at them.
  /** @type {Map<string, object>} */
  const invalid = new Map();

  app.use(session({ secret: randomUUID(), resave: false, saveUninitialized: false }));

  // → From here on `req.affiliate` says which click brought the visitor.
  app.use(tracker);

  app.use(express.urlencoded({ extended: false }));

  // → For operators: what waits, and what was given up. This shop has no log-in for operators, so
  // it lets in this machine alone.
  app.use("/admin/affiliate", dashboard(tracker, { authorize: isFromThisMachine }));

  app.get("/records", (_req, res) => res.redirect(recordsUrl));

  // → The home page carries the service's browser snippet, which turns `?ref=CODE` into a click by
  // itself.
  app.get("/", (req, res) => {
    res.send(homePage({ products, user: currentUser(req), snippet }));
  });

  // → A landing page without the snippet: here the server makes the click. It never delays the
  // page. A site without the snippet has `app.use(tracker, tracker.onClick())` above; the parameter
  // is another one here, because the home page's `ref` is the snippet's.
  app.get("/welcome", tracker.onClick({ param: "via" }), (req, res) => {
    res.send(welcomePage({ products, user: currentUser(req) }));
  });

  // → The handler returns the registration that happened; it is reported in the background.
  app.post(
    "/signup",
    tracker.onRegistration(async (req, res) => {
      const { email, name } = req.body;
      if (!/^[^\s@]+@[^\s@]+$/.test(email ?? "") || !name) {
        fail(res, 400, "Please give us your name and an e-mail address that we can write to.");
        return; // → Nothing happened, so nothing is reported.
      }
      // → Kept on the user's row: payments will come when there is no browser to ask.
      const user = { id: randomUUID(), email, name, affiliate: req.affiliate.snapshot() };
      users.set(user.id, user);
      // A new session for a new login. → The visitor's attribution was read before this line.
      await regenerate(req);
      Object.assign(req.session, { userId: user.id });
      // → Before the response, like all that could throw.
      const registration = { email, customerId: user.id, customerName: name };
      res.redirect(303, "/");
      return registration;
    }),
  );

  app.post("/checkout", (req, res) => {
    const buyer = currentUser(req);
    const product = products.find(({ id }) => id === req.body.product);
    if (!buyer || !product) return fail(res, 400, "Please sign up first, and choose something that we have.");
    const order = { id: randomUUID(), product, buyer, total: product.price, paid: false };
    orders.set(order.id, order);
    res.send(checkoutPage(order));
  });

  // → Reload this page as often as you like: the order's id makes it one payment.
  app.post(
    "/checkout/complete",
    tracker.onPayment((req, res) => {
      const order = orders.get(req.body.order);
      if (!order) return fail(res, 404, "We do not know this order.");
      order.paid = true;
      const payment = { paymentId: order.id, customerEmail: order.buyer.email, leadValue: order.total };
      res.send(thanksPage(order));
      return payment;
    }),
  );

  // What can be returned is paid through the gateway, whose webhook reports it.
  app.post("/checkout/gateway", async (req, res) => {
    const order = orders.get(req.body.order);
    if (!order?.product.returnable) return fail(res, 404, "We do not know this order.");
    if (!order.paid) {
      await gateway.charge(webhookOf(req), { id: order.id, customer: order.buyer.id, total: order.total });
      order.paid = true;
    }
    res.send(thanksPage(order));
  });

  app.post("/return", async (req, res) => {
    const order = orders.get(req.body.order);
    if (!order?.paid || !order.product.returnable) return fail(res, 404, "There is nothing to return.");
    await gateway.refund(webhookOf(req), order.id);
    res.send(returnedPage(order));
  });

  // → The gateway calls, perhaps months later: no cookie, no session. The user's kept snapshot says
  // who referred this customer, if it has a click id or session id, otherwise what `metadata` wrote.
  // The charge's id makes a webhook that comes twice one payment. The receipt means that the event
  // is on the disk: now the gateway may forget it.
  app.post("/webhooks/gateway", express.raw({ type: "application/json" }), async (req, res) => {
    const event = gateway.read(req.body, req.get("gateway-signature"));
    if (!event) {
      res.status(400).end();
      return;
    }
    const told = stripe(event);
    // This gateway was given the shop's own ids of customers. Stripe has its own, `cus_…`.
    const user = told?.type === "payment" ? users.get(told.customerId ?? "") : undefined;
    // → What may come back waits in the outbox until it may not. A refund before that withdraws it.
    if (told?.type === "payment" && user) {
      const isReturnable = orders.get(told.payment.paymentId)?.product.returnable;
      const notBefore = isReturnable ? new Date(Date.now() + RETURN_MS) : undefined;
      const payment = { ...told.payment, customerEmail: user.email, notBefore };
      const { clickId, sessionId } = user.affiliate;
      const receipt = await tracker.trackPayment(
        payment,
        clickId || sessionId ? user.affiliate : told.attribution,
      );
      if (receipt.outcome === "rejected") {
        if (receipt.reason !== "invalid") {
          res.status(500).end(); // → Not stored: the gateway calls again.
          return;
        }
        invalid.set(payment.paymentId, told);
      }
    }
    if (told?.type === "refund" && told.isFull) await tracker.cancelPayment(told.paymentId);
    res.status(204).end();
  });

  // Time travel, for the demonstration: the gateway charges for the next month.
  app.post("/next-month", async (req, res) => {
    const order = orders.get(req.body.order);
    if (!order?.paid || !order.product.monthly) return fail(res, 404, "There is no such subscription.");
    await gateway.charge(webhookOf(req), { customer: order.buyer.id, total: order.total });
    res.send(renewedPage(order));
  });

  /** @param {import("express").Request} req */
  function currentUser(req) {
    return users.get(/** @type {{ userId?: string }} */ (/** @type {unknown} */ (req.session)).userId ?? "");
  }

  return app;
}

/** @param {import("express").Response} res @param {number} status @param {string} message */
function fail(res, status, message) {
  res.status(status).send(errorPage(message));
}

/** @param {import("express").Request} req */
function webhookOf(req) {
  return `http://127.0.0.1:${req.socket.localPort}/webhooks/gateway`;
}

/** @param {import("express").Request} req */
function regenerate(req) {
  return new Promise((resolve, reject) => {
    req.session.regenerate((error) => (error ? reject(error) : resolve(undefined)));
  });
}

/**
 * Both: behind a proxy on this machine every request comes from it, and another site's host name
 * may lead to it.
 *
 * @param {import("express").Request} req
 */
function isFromThisMachine({ socket, hostname }) {
  const addresses = ["127.0.0.1", "::1", "::ffff:127.0.0.1"];
  return addresses.includes(socket.remoteAddress ?? "") && ["127.0.0.1", "localhost"].includes(hostname);
}
