import { randomUUID } from "node:crypto";
import express from "express";
import { tracker } from "./tracker.js";

/** A shop of Express alone. */
export function createShop() {
  const app = express();
  app.use(tracker, express.json());

  app.get("/", tracker.onClick(), (_req, res) => res.send("Welcome"));

  app.post(
    "/signup",
    tracker.onRegistration(async (req, res) => {
      if (!req.body.email) return res.status(400).json({ error: "no address" });
      const registration = { email: req.body.email, customerId: randomUUID() };
      res.status(201).json({ id: registration.customerId });
      return registration;
    }),
  );

  app.post(
    "/checkout",
    tracker.onPayment(async (req, res) => {
      const payment = { paymentId: req.body.id, customerEmail: req.body.email, leadValue: 19.9 };
      res.status(201).json(req.body);
      return payment;
    }),
  );
  return app;
}
