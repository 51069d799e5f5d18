import type { Express, RequestHandler } from "express";
import type { AffiliateOptions, OnClickOptions } from "express-affiliate";
import request from "supertest";
import { onTestFinished } from "vitest";
import { startService } from "./service.js";
import { type LinesLogger, linesLogger, startTracker } from "./tracker.js";

export const FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:146.0) Gecko/20100101 Firefox/146.0";

/** A shop whose landing page answers with `req.affiliate`'s snapshot, and a browser that visits it. */
export async function startLanding(
  express: () => Express,
  options: OnClickOptions = {},
  trackerOptions: Partial<AffiliateOptions> = {},
  before: RequestHandler = (_req, _res, next) => next(),
) {
  const { url, posted } = await startService();
  const logger: LinesLogger = linesLogger();
  const tracker = startTracker({ baseUrl: url, logger, ...trackerOptions });
  const app = express();
  app.use(tracker, before);
  app.all("/", tracker.onClick(options), (req, res) => {
    res.json(req.affiliate?.snapshot());
  });
  const server = app.listen(0, "127.0.0.1");
  onTestFinished(() => void server.close());
  const clicks = async () => {
    await tracker.flush();
    return posted.map(({ body }) => body);
  };
  return { app, server, tracker, visit: visitorOf(server), clicks, lines: logger.lines };
}

/** Opens pages as a browser without Sec-Fetch headers does, at the host shop.example. */
export function visitorOf(server: Parameters<typeof request>[0]) {
  return (path: string, headers: Record<string, string> = {}) =>
    request(server)
      .get(path)
      .set({ Accept: "text/html,*/*;q=0.8", "User-Agent": FIREFOX, Host: "shop.example", ...headers });
}

export function cookiesOf(response: request.Response): string[] {
  return response.get("Set-Cookie") ?? [];
}

/** What the browser sends back: a Cookie header. */
export function sentBack(...responses: request.Response[]): string {
  const jar = new Map<string, string>();
  for (const cookie of responses.flatMap(cookiesOf)) {
    const [pair = ""] = cookie.split(";");
    jar.set(pair.slice(0, pair.indexOf("=")), pair);
  }
  return [...jar.values()].join("; ");
}
