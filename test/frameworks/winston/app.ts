import { randomUUID } from "node:crypto";
import express from "express";
import type { AttributionInput } from "express-affiliate";
import { tracker } from "./tracker.js";

export { lines } from "./tracker.js";

interface User {
  id: string;
  email: string;
  affiliate: AttributionInput;
}
const users = new Map<string, User>();

const app = express();
app.use(tracker, express.json());

app.get("/", tracker.onClick(), (_req, res) => void res.send("Welcome"));

app.post(
  "/signup",
  tracker.onRegistration(async (req, res) => {
    if (!req.body.email) return res.status(400).end();
    const user = { id: randomUUID(), email: req.body.email, affiliate: req.affiliate.snapshot() };
    users.set(user.email, user);
    res.status(201).json({ id: user.id });
    return { email: user.email, customerId: user.id };
  }),
);

app.post(
  "/checkout",
  tracker.onPayment(async (req, res) => {
    const user = users.get(req.body.email);
    if (!user) return res.status(404).end();
    res.status(201).json(req.body);
    return { paymentId: req.body.id, customerEmail: user.email, leadValue: 19.9 };
  }),
);

// The mistake that the walk makes: the user's id instead of the snapshot in the user's row.
app.post("/renewals", async (req, res) => {
  const user = users.get(req.body.email);
  if (!user) return void res.sendStatus(404);
  const payment = { paymentId: req.body.id, customerEmail: user.email, leadValue: 19.9 };
  res.json(await tracker.trackPayment(payment, user.id));
});

export const server = app.listen(process.env.PORT ?? 3000);
