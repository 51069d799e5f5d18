import { randomUUID } from "node:crypto";
import express from "express";
import { tracker } from "./tracker.js";

const orders = new Map();
/** The payment gateway's own list of what was paid. */
export const gateway = { paid: new Set(), isPaid: async (id) => gateway.paid.has(id) };

const app = express();
app.use(express.json(), tracker);

app.get("/", tracker.onClick(), (_req, res) => res.send("Welcome"));

app.post(
  "/signup",
  tracker.onRegistration((req, res) => {
    res.sendStatus(201);
    return { email: req.body.email };
  }),
);

// #region order
app.post("/checkout", (req, res) => {
  const order = { id: randomUUID(), email: req.body.email, total: 19.9, affiliate: req.affiliate.snapshot() };
  orders.set(order.id, order);
  res.status(201).json({ id: order.id });
});

/** The same in both places: the first report is the payment, the second is a duplicate. */
async function reportIfPaid(order) {
  if (!(await gateway.isPaid(order.id))) return;
  const payment = { paymentId: order.id, customerEmail: order.email, leadValue: order.total };
  await tracker.trackPayment(payment, order.affiliate);
}
// #endregion

app.post("/webhooks/gateway", async (req, res) => {
  await reportIfPaid(orders.get(req.body.order));
  res.sendStatus(204);
});

app.get("/thanks/:id", async (req, res) => {
  await reportIfPaid(orders.get(req.params.id));
  res.send("Thank you");
});

export const server = app.listen(process.env.PORT ?? 3000);
