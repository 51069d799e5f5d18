import express from "express";
import {
  type Affiliate,
  type AffiliateOptions,
  affiliate,
  type Outbox,
  type Receipt,
} from "express-affiliate";
import { dashboard } from "express-affiliate/dashboard";
import { diskOutbox } from "express-affiliate/disk";
import { metadata, type Sale, stripe } from "express-affiliate/gateways";
import { mysqlOutbox } from "express-affiliate/mysql";
import { postgresOutbox } from "express-affiliate/postgres";
import { createSandbox } from "express-affiliate/sandbox";
import { recordingOutbox } from "express-affiliate/testing";

export const outboxes = (
  pool: Parameters<typeof postgresOutbox>[0]["pool"],
  mysqlPool: Parameters<typeof mysqlOutbox>[0]["pool"],
): Outbox[] => [
  diskOutbox({ directory: "outbox" }),
  postgresOutbox({ pool }),
  mysqlOutbox({ pool: mysqlPool }),
];

export const recorded = () => recordingOutbox().events.map(({ kind, data }) => ({ kind, ...data }));

export function saleIn(event: unknown): Sale | undefined {
  const told = stripe(event);
  return told?.type === "refund" ? told.sale : told;
}

export async function shop(options: AffiliateOptions): Promise<Receipt> {
  // What may be undefined is an error at start-up.
  affiliate({
    baseUrl: process.env.TRACKING_URL,
    clientId: Number(process.env.TRACKING_CLIENT_ID),
    enabled: false,
  });
  const tracker: Affiliate = affiliate(options);
  const app = express();
  app.use(tracker);
  app.use(
    "/admin/affiliate",
    dashboard(tracker, { authorize: async (req) => req.get("x-operator") === "ada" }),
  );
  // @ts-expect-error: who may see it must be said.
  dashboard(tracker, {});
  app.get("/", tracker.onClick({ param: "via" }), (req, res) => {
    const clickId: string | undefined = req.affiliate?.clickId;
    res.json({ clickId });
  });
  app.post(
    "/signup",
    tracker.onRegistration(async (req, res) => {
      const { sessionId } = req.affiliate;
      res.status(201).json({ sessionId });
      return req.body.happened ? { email: "ada@shop.example", customerId: 7 } : undefined;
    }),
  );
  app.post(
    "/users/:id/orders",
    tracker.onPayment<{ id: string }>(
      (req, res) => {
        res.json({ id: req.params.id });
      },
      (req) => ({ paymentId: req.params.id, customerEmail: "ada@shop.example", leadValue: 19.9 }),
    ),
  );
  // @ts-expect-error: a payment says how much it was.
  tracker.onPayment(() => ({ paymentId: 1, customerEmail: "ada@shop.example" }));
  const sandbox = await createSandbox();
  await sandbox.ledger.waitFor({ kind: "payment", customerEmail: "ada@shop.example" });
  const sale = saleIn({ type: "customer.created" });
  if (sale)
    await tracker.trackPayment({ ...sale.payment, customerEmail: "ada@shop.example" }, sale.attribution);
  const stripeMetadata: Record<string, string | number | null> = metadata({ clickId: null, sessionId: "s1" });
  tracker.on("dead", ({ id, reason }) => console.log(id, reason, stripeMetadata));
  return tracker.trackPayment({ paymentId: 1n, customerEmail: "ada@shop.example", leadValue: 1 }, null);
}
