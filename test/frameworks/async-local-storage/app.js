import { AsyncLocalStorage } from "node:async_hooks";
import { randomUUID } from "node:crypto";
import express from "express";
import { tracker } from "./tracker.js";

// #region storage
const visitor = new AsyncLocalStorage();

const app = express();
app.use(tracker, express.json(), (req, _res, next) => visitor.run(req.affiliate, next));

// Far from any request:
async function completeOrder({ id, email }) {
  const order = { id, email, total: 19.9 };
  await visitor.getStore()?.trackPayment({ paymentId: id, customerEmail: email, leadValue: order.total });
  return order;
}
// #endregion

async function createUser({ email }) {
  await new Promise(setImmediate);
  if (!email) throw Object.assign(new Error("no address"), { status: 400 });
  const user = { id: randomUUID(), email };
  await visitor.getStore()?.trackRegistration({ email, customerId: user.id });
  return user;
}

app.get("/", tracker.onClick(), (_req, res) => res.send("Welcome"));

app.post("/signup", (req, res, next) => {
  createUser(req.body).then((user) => res.json(user), next);
});

app.post("/checkout", (req, res, next) => {
  completeOrder(req.body).then((order) => res.json(order), next);
});

app.use((error, _req, res, _next) => res.status(error.status ?? 500).json({ error: error.message }));

export const server = app.listen(process.env.PORT ?? 3000);
