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

/** A tracker for one test: quiet, and closed with it. */
export function startTracker(
  options: Partial<AffiliateOptions> & Pick<AffiliateOptions, "baseUrl">,
): Affiliate {
  const tracker = affiliate({ clientId: CLIENT_ID, apiKey: API_KEY, logger: linesLogger(), ...options });
  onTestFinished(async () => {
    await tracker.close({ timeoutMs: 500 });
  });
  return tracker;
}

/** A tracker for one test, the service that it reports to, and the lines that it logs. */
export async function trackerWithService(options: Partial<AffiliateOptions> = {}, answer?: Answer) {
  const { url, posted, received } = await startService(answer);
  const logger = linesLogger();
  const tracker = startTracker({ baseUrl: url, logger, ...options });
  return { url, tracker, posted, received, lines: logger.lines };
}
