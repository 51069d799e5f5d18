import { randomUUID } from "node:crypto";
import { BadRequest } from "@feathersjs/errors";
import express, { errorHandler, json, rest } from "@feathersjs/express";
import { feathers } from "@feathersjs/feathers";
import { tracker } from "./tracker.js";

const app = express(feathers());
app.get("/", tracker.onClick(), (_req, res) => res.send("Welcome"));
app.use(json());
app.configure(rest());

app.use("signup", {
  async create({ email, name }) {
    if (!email) throw new BadRequest("no address");
    return { id: randomUUID(), email, name };
  },
});
app.use("checkout", { create: async ({ id, email }) => ({ id, email, total: 19.9 }) });

app.service("signup").hooks({
  after: {
    async create({ result: user, params }) {
      const registration = { email: user.email, customerId: user.id, customerName: user.name };
      await tracker.trackRegistration(registration, tracker.attributionOf(params));
    },
  },
});
app.service("checkout").hooks({
  after: {
    async create({ result: order, params }) {
      const payment = { paymentId: order.id, customerEmail: order.email, leadValue: order.total };
      await tracker.trackPayment(payment, tracker.attributionOf(params));
    },
  },
});
app.use(errorHandler({ logger: false }));

export const server = await app.listen(process.env.PORT ?? 3000);
