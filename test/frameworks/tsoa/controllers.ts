import { randomUUID } from "node:crypto";
import type { Request as ExpressRequest } from "express";
import type { Attributed } from "express-affiliate";
import { Body, Controller, Post, Request, Response, Route } from "tsoa";

interface Person {
  /** @pattern ^.+@.+$ */
  email: string;
}

@Route("signup")
export class UsersController extends Controller {
  @Post()
  @Response(422, "no address")
  async signUp(
    @Body() person: Person,
    @Request() req: Attributed<ExpressRequest>,
  ): Promise<{ id: string; email: string }> {
    const user = { id: randomUUID(), email: person.email };
    await req.affiliate.trackRegistration({ email: user.email, customerId: user.id });
    return user;
  }
}

@Route("checkout")
export class OrdersController extends Controller {
  @Post()
  async checkout(
    @Body() order: { id: string; email: string },
    @Request() req: Attributed<ExpressRequest>,
  ): Promise<void> {
    await req.affiliate.trackPayment({ paymentId: order.id, customerEmail: order.email, leadValue: 19.9 });
  }
}
