import express from "express";
import { diskOutbox } from "express-affiliate/disk";
import { say } from "../shared/child.js";
import { serve } from "../shared/serve.js";
import { trackerOf } from "../shared/tracker.js";

export interface ShopOptions {
  readonly url: string;
  readonly directory: string;
  readonly task: "sell";
}

/** A shop that awaits nothing: both of its checkouts answer before the receipt is there. */
export async function runShop({ url, directory }: ShopOptions): Promise<void> {
  const tracker = trackerOf(url, {
    outbox: diskOutbox({ directory }),
    logger: { warn() {}, error: (line) => say({ error: String(line) }) },
  });
  const app = express();
  app.use(express.json(), tracker);
  const paymentOf = (order: { id: number }) => ({
    paymentId: order.id,
    customerEmail: "ann@shop.example",
    leadValue: order.id,
  });

  app.post(
    "/wrapped",
    tracker.onPayment((req, res) => {
      setImmediate(() => res.json({ paid: true }));
      return paymentOf(req.body);
    }),
  );
  app.post("/called", (req, res) => {
    void req.affiliate?.trackPayment(paymentOf(req.body));
    res.json({ paid: true });
  });

  const { port } = await serve(app);
  say({ port });
}
