import { inject } from "@loopback/core";
import { HttpErrors, post, type Request, RestApplication, RestBindings, requestBody } from "@loopback/rest";
import express from "express";
import type { Attributed } from "express-affiliate";
import { tracker } from "./tracker.js";

class ShopController {
  constructor(@inject(RestBindings.Http.REQUEST) private readonly req: Attributed<Request>) {}

  @post("/signup")
  async signUp(@requestBody() { email }: { email: string }) {
    if (!email) throw new HttpErrors.BadRequest("no address");
    await this.req.affiliate.trackRegistration({ email, customerId: email });
    return { email };
  }

  @post("/checkout")
  async checkout(@requestBody() { id, email }: { id: string; email: string }) {
    await this.req.affiliate.trackPayment({ paymentId: id, customerEmail: email, leadValue: 19.9 });
    return { id };
  }
}

const shop = new RestApplication({ rest: { listenOnStart: false } });
shop.controller(ShopController);
await shop.start();

const app = express();
app.use(tracker, tracker.onClick());
app.get("/", (_req, res) => void res.send("Welcome"));
app.use(shop.requestHandler);

export const server = app.listen(process.env.PORT ?? 3000);
export const close = async () => {
  server.close();
  await shop.stop();
};
