import "reflect-metadata";
import { randomUUID } from "node:crypto";
import express, { type ErrorRequestHandler, type Request } from "express";
import type { Attributed } from "express-affiliate";
import { BadRequestError, Body, JsonController, Post, Req, useExpressServer } from "routing-controllers";
import { tracker } from "./tracker.js";

@JsonController()
class UsersController {
  @Post("/signup")
  async signUp(@Body() body: { email: string }, @Req() req: Attributed<Request>) {
    if (!body.email) throw new BadRequestError("no address");
    const user = { id: randomUUID(), email: body.email };
    await req.affiliate.trackRegistration({ email: user.email, customerId: user.id });
    return user;
  }
}

@JsonController()
class OrdersController {
  @Post("/checkout")
  async checkout(@Body() body: { id: string; email: string }, @Req() req: Attributed<Request>) {
    const order = { ...body, total: 19.9 };
    await req.affiliate.trackPayment({
      paymentId: order.id,
      customerEmail: order.email,
      leadValue: order.total,
    });
    return order;
  }
}

const app = express();
app.use(tracker); // before `useExpressServer`
app.get("/", tracker.onClick(), (_req, res) => void res.send("Welcome"));
useExpressServer(app, { controllers: [UsersController, OrdersController], defaultErrorHandler: false });
app.use(((error, _req, res, _next) => {
  res.status(error.httpCode ?? 500).json({ message: error.message });
}) satisfies ErrorRequestHandler);

export const server = app.listen(process.env.PORT ?? 3000);
