import { randomUUID } from "node:crypto";
import { Server } from "node:http";
import { Controller, inject } from "@tsed/di";
import { BadRequest } from "@tsed/exceptions";
import { PlatformExpress } from "@tsed/platform-express";
import { Req } from "@tsed/platform-http";
import { BodyParams } from "@tsed/platform-params";
import { Get, Post } from "@tsed/schema";
import type { Request } from "express";
import type { Attributed } from "express-affiliate";
import { tracker } from "./tracker.js";

@Controller("/")
class Shop {
  @Get("/")
  welcome() {
    return "Welcome";
  }

  @Post("/signup")
  async signUp(@BodyParams("email") email: string, @Req() req: Attributed<Request>) {
    if (!email) throw new BadRequest("no address");
    const user = { id: randomUUID(), email };
    await req.affiliate.trackRegistration({ email, customerId: user.id });
    return user;
  }

  @Post("/checkout")
  async checkout(
    @BodyParams() { id, email }: { id: string; email: string },
    @Req() req: Attributed<Request>,
  ) {
    await req.affiliate.trackPayment({ paymentId: id, customerEmail: email, leadValue: 19.9 });
    return { id };
  }
}

const platform = await PlatformExpress.bootstrap({
  mount: { "/": [Shop] },
  middlewares: [tracker, tracker.onClick(), "json-parser"],
  httpPort: process.env.PORT ?? 3000,
  httpsPort: false,
  logger: { level: "error" },
});
await platform.listen();

export const server = inject(Server);
export const close = () => platform.stop();
