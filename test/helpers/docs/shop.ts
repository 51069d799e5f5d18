import express, { type RequestHandler } from "express";
import type { Affiliate, AffiliateOptions } from "express-affiliate";
import request from "supertest";
import { onTestFinished } from "vitest";
import { startSandbox } from "../../sandbox/helpers.js";
import { FIREFOX } from "../landing.js";
import { startService } from "../service.js";
import { startTracker } from "../tracker.js";

/** A shop whose routes a page's blocks add, a tracking service, and the tracker between them. */
export async function startShop({
  before = [],
  ...options
}: Partial<AffiliateOptions> & { before?: RequestHandler[] } = {}) {
  const sandbox = await startSandbox();
  const { url: baseUrl, clientId, apiKey } = sandbox;
  const service = { baseUrl, clientId, apiKey };
  const tracker = startTracker({ ...service, ...options });
  const app = express();
  for (const middleware of before) app.use(middleware);
  app.use(tracker);
  return { sandbox, service, tracker, app, env: envFor(sandbox) };
}

/** A shop beside a service that refuses every second payment. */
export async function startRefusing() {
  let payments = 0;
  const { url: baseUrl } = await startService(({ path }, res) => {
    if (path.endsWith("/payment") && ++payments === 2) res.statusCode = 422;
    return res.statusCode === 422
      ? { error: "Unprocessable", message: "no such customer: ada@shop.example", status: 422 }
      : { success: true };
  });
  return startShop({ baseUrl });
}

/**
 * Reports a payment that is delivered, one that `startRefusing()` refuses, one that is dropped, a
 * click that is delivered, and a registration that is skipped.
 */
export async function reportAll(tracker: Affiliate): Promise<void> {
  const payment = { paymentId: "o1", customerEmail: "ada@shop.example", leadValue: 19.9 };
  await tracker.trackClick({ affiliateReference: "ALICE" }, { clickId: "c1" });
  await tracker.trackPayment(payment, { sessionId: "s1" });
  await tracker.trackPayment({ ...payment, paymentId: "refused" }, { sessionId: "s2" });
  await tracker.trackPayment({ ...payment, leadValue: -1 }, { sessionId: "s1" });
  await tracker.trackRegistration({ email: "ada@shop.example" });
  await tracker.flush();
}

/** What a page's own code reads from `process.env`. */
export const envFor = (sandbox: { url: string; clientId: number; apiKey: string }) => ({
  TRACKING_URL: sandbox.url,
  TRACKING_CLIENT_ID: String(sandbox.clientId),
  TRACKING_API_KEY: sandbox.apiKey,
});

/** A tracker that a block has made, closed with the test. */
export function closing(tracker: Affiliate): Affiliate {
  onTestFinished(async () => {
    await tracker.close({ timeoutMs: 500 });
  });
  return tracker;
}

/** A browser: it keeps cookies and asks for pages. */
export function browser(app: Parameters<typeof request.agent>[0]) {
  return request.agent(app).set({ "User-Agent": FIREFOX, Accept: "text/html" });
}

/** A visitor with both cookies, as a browser that has been at an affiliate's landing page. */
export function referred(app: Parameters<typeof request.agent>[0]) {
  return browser(app).set("Cookie", "svc_click_id=c1; svc_session_id=s1");
}
