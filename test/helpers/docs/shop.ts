import express, { type RequestHandler } from "express";
import type { Affiliate, AffiliateOptions } from "express-affiliate";
import { createSandbox } from "express-affiliate/sandbox";
import request from "supertest";
import { onTestFinished } from "vitest";
import { startTracker } from "../tracker.js";

const FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:146.0) Gecko/20100101 Firefox/146.0";

/** A shop whose routes a page's blocks add, a tracking service, and the tracker between them. */
export async function startShop({
  before = [],
  ...options
}: Partial<AffiliateOptions> & { before?: RequestHandler[] } = {}) {
  const sandbox = await createSandbox();
  onTestFinished(() => sandbox.close());
  const { url: baseUrl, clientId, apiKey } = sandbox;
  const tracker = startTracker({ baseUrl, clientId, apiKey, ...options });
  const app = express();
  for (const middleware of before) app.use(middleware);
  app.use(tracker);
  return { sandbox, tracker, app, env: envFor(sandbox) };
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
