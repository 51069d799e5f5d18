import "reflect-metadata";
import {
  type Context,
  createApp,
  HttpResponseBadRequest,
  HttpResponseCreated,
  HttpResponseOK,
  Post,
} from "@foal/core";
import express from "express";
import { tracker } from "./tracker.js";

class AppController {
  @Post("/signup")
  async signUp({ request }: Context) {
    const { email } = request.body;
    if (!email) return new HttpResponseBadRequest("no address");
    await request.affiliate.trackRegistration({ email, customerId: email });
    return new HttpResponseCreated({ email });
  }

  @Post("/checkout")
  async checkout({ request }: Context) {
    const { id, email } = request.body;
    await request.affiliate.trackPayment({ paymentId: id, customerEmail: email, leadValue: 19.9 });
    return new HttpResponseOK({ id });
  }
}

const app = express();
app.use(tracker, tracker.onClick());
app.get("/", (_req, res) => void res.send("Welcome"));
await createApp(AppController, { expressInstance: app });

export const server = app.listen(process.env.PORT ?? 3000);
