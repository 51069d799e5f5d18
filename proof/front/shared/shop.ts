import { join } from "node:path";
import express, { type Express } from "express";
import { type Affiliate, type AffiliateOptions, affiliate } from "express-affiliate";
import type { Sandbox } from "express-affiliate/sandbox";
import { root } from "../../../test/helpers/docs/pages.js";
import { serve } from "../../shared/serve.js";

interface ShopOptions {
  readonly sandbox: Sandbox;
  readonly tracking?: Partial<AffiliateOptions>;
  /** Called before the tracker is mounted. */
  readonly before?: (app: Express) => void;
  /** Called after the tracker is mounted, before static files and routes. */
  readonly pages?: (app: Express) => void;
}

/** The shop's static files. */
export const site = join(root, "proof/front/site");

/** A shop as the README has it: the tracker above static files, a sign-up and a checkout. */
export async function startShop({ sandbox, tracking, before, pages }: ShopOptions) {
  const { url: baseUrl, clientId, apiKey } = sandbox;
  const logger = { warn: () => {}, error: console.error };
  const tracker = affiliate({ baseUrl, clientId, apiKey, logger, ...tracking });
  const app = express();
  before?.(app);
  app.use(tracker, tracker.onClick());
  pages?.(app);
  app.use(express.static(site));
  addRoutes(app, tracker);
  const { port, stop } = await serve(app);
  return {
    app,
    tracker,
    port,
    /** Waits until the service has all that was reported, then ends everything. */
    async close() {
      await tracker.flush({ timeoutMs: 60_000 });
      await tracker.close();
      await stop();
    },
  };
}

/** `POST /signup` and `POST /checkout` with `{ email, order }`. */
export function addRoutes(app: Express, tracker: Affiliate): void {
  app.use(express.json());
  app.post(
    "/signup",
    tracker.onRegistration((req, res) => {
      res.status(201).json({ ok: true });
      return { email: req.body.email, customerId: req.body.email };
    }),
  );
  app.post(
    "/checkout",
    tracker.onPayment((req, res) => {
      const { email, order } = req.body;
      res.json({ ok: true });
      return { paymentId: order, customerEmail: email, leadValue: 19.9 };
    }),
  );
}
