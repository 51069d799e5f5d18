import type { AffiliateOptions } from "express-affiliate";
import { type Answer, startService } from "./service.js";
import { linesLogger, startTracker } from "./tracker.js";

/** A tracker for one test, the service that it reports to, and the lines that it logs. */
export async function trackerWithService(options: Partial<AffiliateOptions> = {}, answer?: Answer) {
  const { url, posted, received } = await startService(answer);
  const logger = linesLogger();
  const tracker = startTracker({ baseUrl: url, logger, ...options });
  return { url, tracker, posted, received, lines: logger.lines };
}
