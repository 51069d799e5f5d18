import { randomUUID } from "node:crypto";
import { initTRPC, TRPCError } from "@trpc/server";
import { createExpressMiddleware } from "@trpc/server/adapters/express";
import express from "express";
import { paymentOf } from "./payment.js";
import { tracker } from "./tracker.js";

const readPerson = (input) => {
  if (!input.email) throw new TRPCError({ code: "BAD_REQUEST", message: "no address" });
  return input;
};
const readOrder = (input) => input;

const users = { create: async ({ email }) => ({ id: randomUUID(), email }) };
const orders = { complete: async ({ id, email }) => ({ id, email, total: 19.9 }) };

const app = express();
app.get("/", tracker.onClick(), (_req, res) => res.send("Welcome"));

const t = initTRPC.context().create();

const router = t.router({
  signUp: t.procedure.input(readPerson).mutation(async ({ input, ctx }) => {
    const user = await users.create(input);
    await ctx.affiliate.trackRegistration({ email: user.email, customerId: user.id });
    return user;
  }),
  checkout: t.procedure.input(readOrder).mutation(async ({ input, ctx }) => {
    const order = await orders.complete(input);
    await ctx.affiliate.trackPayment(paymentOf(order));
    return order;
  }),
});

// #region context
const createContext = ({ req }) => ({ affiliate: req.affiliate });
app.use("/trpc", tracker, createExpressMiddleware({ router, createContext }));
// #endregion

export const server = app.listen(process.env.PORT ?? 3000);
