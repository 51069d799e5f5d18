import { type Affiliate, type AffiliateOptions, affiliate } from "express-affiliate";
import { onTestFinished } from "vitest";
import { type Answer, startService } from "./service.js";

/** A logger that keeps its lines. */
export function linesLogger() {
  const lines: string[] = [];
  const keep = (line: string) => lines.push(line);
  return { lines, debug: keep, info: keep, warn: keep, error: keep };
}

export const CLIENT_ID = 42;
export const API_KEY = "key-that-is-never-shown";

// Nothing listens there.
const baseUrl = "http://127.0.0.1:1";

/** A tracker for one test: quiet, and closed with it. Unless it is told of a service, it has none. */
export function startTracker(options: Partial<AffiliateOptions> = {}): Affiliate {
  const quiet = { clientId: CLIENT_ID, apiKey: API_KEY, logger: linesLogger() };
  return closing(affiliate({ baseUrl, ...quiet, ...options }));
}

/** A tracker that is closed with the test. */
export function closing(tracker: Affiliate): Affiliate {
  onTestFinished(async () => {
    await tracker.close({ timeoutMs: 500 });
  });
  return tracker;
}

/** The same, and the lines that it logs. */
export function trackerWithLines(options: Partial<AffiliateOptions> = {}) {
  const logger = linesLogger();
  return { tracker: startTracker({ logger, ...options }), lines: logger.lines };
}

/** A tracker for one test, the service that it reports to, and the lines that it logs. */
export async function trackerWithService(options: Partial<AffiliateOptions> = {}, answer?: Answer) {
  const { url, posted, received } = await startService(answer);
  return { url, posted, received, ...trackerWithLines({ baseUrl: url, ...options }) };
}
