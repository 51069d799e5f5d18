import { clerkMiddleware, getAuth } from "@clerk/express";
import express from "express";
import { tracker } from "./tracker.js";

const users = new Map();

const app = express();
app.use(tracker, express.json());
// Before Clerk, which sends some visits to its own site and back: first ones in development, those with an old session.
app.get("/", tracker.onClick());
app.use(clerkMiddleware());

// The page behind Clerk's sign-up form posts to this. Clerk's webhook `user.created` has no cookies.
app.post(
  "/signup",
  tracker.onRegistration(async (req, res) => {
    const { userId } = getAuth(req);
    if (!userId || !req.body.email) return res.status(400).json({ error: "not signed in" });
    users.set(userId, { email: req.body.email, affiliate: req.affiliate.snapshot() });
    const registration = { email: req.body.email, customerId: userId };
    res.status(201).json({ id: userId });
    return registration;
  }),
);

app.post(
  "/checkout",
  tracker.onPayment(async (req, res) => {
    const user = users.get(getAuth(req).userId);
    if (!user) return res.sendStatus(401);
    const payment = { paymentId: req.body.id, customerEmail: user.email, leadValue: 19.9 };
    res.sendStatus(204);
    return payment;
  }),
);

app.get("/", (_req, res) => res.send("Welcome"));

export const server = app.listen(process.env.PORT ?? 3000);
