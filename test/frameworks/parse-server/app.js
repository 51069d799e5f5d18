import express from "express";
import { ParseServer } from "parse-server";
import { tracker } from "./tracker.js";

const app = express();
app.get("/", tracker.onClick(), (_req, res) => res.send("Welcome"));

/** The Cloud Code: its triggers and functions have the request's headers, and nothing else of it. */
function cloud({ Parse }) {
  Parse.Cloud.afterSave(Parse.User, async ({ object: user, original, headers }) => {
    if (original) return; // a later save is no sign-up
    const registration = { email: user.get("email"), customerId: user.id };
    await tracker.trackRegistration(registration, tracker.attributionOf({ headers }));
  });

  Parse.Cloud.define("checkout", async ({ params, user, headers }) => {
    const order = { id: params.id, total: 19.9 };
    const payment = { paymentId: order.id, customerEmail: user.get("email"), leadValue: order.total };
    await tracker.trackPayment(payment, tracker.attributionOf({ headers }));
    return order;
  });
}

export const server = app.listen(process.env.PORT ?? 3000);
const parse = new ParseServer({
  databaseURI: process.env.DATABASE_URL,
  appId: "shop",
  masterKey: "a master key",
  serverURL: `http://localhost:${server.address().port}/parse`,
  cloud,
  silent: true,
});
await parse.start();
app.use("/parse", parse.app);

parse.server = server; // which it closes
export const close = () => parse.handleShutdown();
