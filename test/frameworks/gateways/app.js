import express from "express";
import * as gateways from "express-affiliate/gateways";
import { createShop } from "./payments.js";
import { tracker } from "./tracker.js";
import { verified } from "./verified.js";

const app = express();
app.use(tracker);
app.get("/", tracker.onClick(), (_req, res) => res.send("Welcome"));

const readers = { ...gateways, adyen: (item) => gateways.adyen(item, { capture: "automatic" }) };

/** A shop for each gateway, below its name. */
export const shops = Object.entries(verified).map(([name, verify]) => {
  const shop = createShop({ express, tracker, verified: verify, read: readers[name], windowMs: 0 });
  app.use(`/${name}`, shop.app);
  return { name, ...shop };
});

export const server = app.listen(process.env.PORT ?? 3000);
