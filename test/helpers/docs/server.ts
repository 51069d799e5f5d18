/**
 * A shop that docs/production.md starts and shuts down: what its blocks have as `app` and
 * `tracker`, for a process of its own.
 */
export const shopToServe = `import express from "express";
import { affiliate } from "express-affiliate";
import { diskOutbox } from "express-affiliate/disk";

const tracker = affiliate({
  baseUrl: process.env.TRACKING_URL,
  clientId: Number(process.env.TRACKING_CLIENT_ID),
  apiKey: process.env.TRACKING_API_KEY,
  outbox: diskOutbox({ directory: process.env.OUTBOX_DIRECTORY ?? "outbox" }),
});

const app = express();
app.use(express.json(), tracker);

app.post(
  "/checkout/complete",
  tracker.onPayment(async (req, res) => {
    const order = { total: 19.9, ...req.body }; // your own checkout
    const payment = { paymentId: order.id, customerEmail: order.email, leadValue: order.total };
    res.json(order);
    return payment;
  }),
);

`;
