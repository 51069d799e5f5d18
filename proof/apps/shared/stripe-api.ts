import express from "express";
import { serve } from "../../shared/serve.js";
import type { Beside } from "./app.js";

/** What a shop asks of Stripe at a sign-up, on `STRIPE_PORT`. A customer's id is `cus_ADDRESS`. */
export async function startStripe(): Promise<Beside> {
  const app = express();
  app.use(express.urlencoded());
  app.get("/v1/customers/search", (_req, res) => void res.json({ object: "search_result", data: [] }));
  app.post("/v1/customers", (req, res) => {
    res.json({ object: "customer", id: `cus_${req.body.email}`, email: req.body.email, metadata: {} });
  });
  // A change of the user's row changes the customer.
  app.use(
    "/v1/customers/:id",
    (req, res) => void res.json({ object: "customer", id: req.params.id, metadata: {} }),
  );
  const { port, stop } = await serve(app);
  return { environment: { STRIPE_PORT: String(port) }, stop };
}
