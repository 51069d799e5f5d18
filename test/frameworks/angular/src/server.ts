import { randomUUID } from "node:crypto";
import { join } from "node:path";
import {
  AngularNodeAppEngine,
  createNodeRequestHandler,
  writeResponseToNodeResponse,
} from "@angular/ssr/node";
import express from "express";
import { tracker } from "./tracker";

const app = express();
app.use(tracker, tracker.onClick());

app.post(
  "/signup",
  express.json(),
  tracker.onRegistration(async (req, res) => {
    const { email } = req.body;
    if (!email) return void res.sendStatus(400);
    const registration = { email, customerId: randomUUID() };
    res.status(201).json(registration);
    return registration;
  }),
);

app.post(
  "/checkout",
  express.json(),
  tracker.onPayment(async (req, res) => {
    const { id, email } = req.body;
    res.status(201).json({ id });
    return { paymentId: id, customerEmail: email, leadValue: 19.9 };
  }),
);

app.use(express.static(join(import.meta.dirname, "../browser"), { index: false, redirect: false }));

const engine = new AngularNodeAppEngine();
app.use(async (req, res, next) => {
  const response = await engine.handle(req);
  if (!response) return next();
  await writeResponseToNodeResponse(response, res);
});

export const reqHandler = createNodeRequestHandler(app);
export { tracker };
