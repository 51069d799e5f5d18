import type { Express, RequestHandler } from "express";
import type { AffiliateOptions, OnClickOptions } from "express-affiliate";
import request from "supertest";
import { serve } from "./express.js";
import { trackerWithService } from "./tracker.js";

export const FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:146.0) Gecko/20100101 Firefox/146.0";

/**
 * A shop whose landing page answers with `req.affiliate`'s snapshot, and a browser that visits it.
 */
export async function startLanding(
  express: () => Express,
  options: OnClickOptions = {},
  trackerOptions: Partial<AffiliateOptions> = {},
  before: RequestHandler = (_req, _res, next) => next(),
) {
  const { tracker, posted, lines } = await trackerWithService(trackerOptions);
  const app = express();
  app.use(tracker, before);
  app.all("/", tracker.onClick(options), (req, res) => {
    res.json(req.affiliate?.snapshot());
  });
  const { server, port } = await serve(app);
  const clicks = async () => {
    await tracker.flush();
    return posted.map(({ body }) => body);
  };
  return { app, server, port, tracker, visit: visitorOf(server), clicks, lines };
}

/** Opens pages as a browser without Sec-Fetch headers does, at the host shop.example. */
export function visitorOf(server: Parameters<typeof request>[0]) {
  return (path: string, headers: Record<string, string> = {}) =>
    request(server)
      .get(path)
      .set({ Accept: "text/html,*/*;q=0.8", "User-Agent": FIREFOX, Host: "shop.example", ...headers });
}

export const cookiesOf = (response: request.Response): string[] => response.get("Set-Cookie") ?? [];

/** The names of the cookies that it sets. */
export const cookieNamesOf = (response: request.Response) =>
  cookiesOf(response).map((cookie) => cookie.split("=")[0]);

/** Answers "hello" with these headers. */
export const hello =
  (headers: Record<string, string> = {}): RequestHandler =>
  (_req, res) =>
    void res.set(headers).send("hello");

/** What the browser sends back: a Cookie header. */
export function sentBack(...responses: request.Response[]): string {
  const jar = new Map<string, string>();
  for (const cookie of responses.flatMap(cookiesOf)) {
    const [pair = ""] = cookie.split(";");
    jar.set(pair.slice(0, pair.indexOf("=")), pair);
  }
  return [...jar.values()].join("; ");
}
