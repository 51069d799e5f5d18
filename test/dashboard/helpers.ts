import type { Express, RequestHandler } from "express";
import express5 from "express";
import type { Affiliate } from "express-affiliate";
import { type DashboardOptions, dashboard } from "express-affiliate/dashboard";
import request from "supertest";
import { serve } from "../helpers/express.js";
import { answering, faultyService } from "../helpers/faulty-service.js";
import { startTracker } from "../helpers/tracker.js";

/** Where the tests mount it. */
export const PATH = "/admin/affiliate";

/** A tracker whose service refuses everything in these words. */
export async function refusedTracker(message: string, error = message): Promise<Affiliate> {
  const { url } = await faultyService({ onRequest: answering(422, { error, message, status: 422 }) });
  return startTracker({ baseUrl: url });
}

/** Reports a payment, and waits until it is a dead letter. */
export async function payInVain(tracker: Affiliate, customerEmail: string): Promise<Affiliate> {
  const died = new Promise((resolve) => tracker.on("dead", resolve));
  const payment = { paymentId: "o1", customerEmail, leadValue: 19.9 };
  await tracker.trackPayment(payment, { sessionId: "a-login-session" });
  await died;
  return tracker;
}

/** An app that serves the dashboard, to everyone unless told otherwise. */
export function appWith(
  tracker: Affiliate,
  {
    authorize = () => true,
    express = express5,
    before = [],
  }: Partial<DashboardOptions> & { express?: typeof express5; before?: RequestHandler[] } = {},
) {
  const app = express();
  for (const middleware of before) app.use(middleware);
  app.use(PATH, dashboard(tracker, { authorize }));
  return app;
}

/** The dashboard's own page, as its browser asks: with what browsers say of a page's origin. */
export function openDashboard(app: Parameters<typeof request>[0]) {
  const own = { "Sec-Fetch-Site": "same-origin" };
  return {
    get: (path: string) => request(app).get(`${PATH}/${path}`).set(own),
    post: (path: string, query: Record<string, string | number | boolean | undefined>) =>
      request(app).post(`${PATH}/${path}`).query(query).set(own),
  };
}

/** The app's address on a server that ends with the test, under a name that leads to this machine. */
export async function listen(app: Express, host = "127.0.0.1"): Promise<string> {
  return `http://${host}:${(await serve(app)).port}`;
}
