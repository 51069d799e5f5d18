import { once } from "node:events";
import { connect, type Socket } from "node:net";
import type { ErrorRequestHandler, Express, Request, Response } from "express";
import type { Affiliate, AffiliateOptions } from "express-affiliate";
import { serve } from "./express.js";
import { trackerWithService } from "./tracker.js";

export const COOKIES = "svc_click_id=c1; svc_session_id=s1";
export const ada = { email: "ada@shop.example", customerId: 7, customerName: "Ada" };
export const order = { paymentId: "o1", customerEmail: "ada@shop.example", leadValue: 19.9 };

/** A handler that answers, and returns what happened. */
export function returning<Happened>(happened: Happened, status = 200) {
  return (_req: Request, res: Response): Happened => {
    res.status(status).end();
    return happened;
  };
}

export const throwing = (message: string) => (): never => {
  throw new Error(message);
};

/**
 * An app whose visitors bring attribution, its tracking service, and what its error handler got.
 * Ends with the test.
 */
export async function startShop(
  express: () => Express,
  mount: (app: Express, tracker: Affiliate) => void,
  options: Partial<AffiliateOptions> = {},
) {
  const { tracker, posted, lines } = await trackerWithService(options);
  const app = express();
  app.use(tracker);
  mount(app, tracker);
  const heard: unknown[] = [];
  app.use(((error, _req, res, next) => {
    heard.push(error);
    if (res.headersSent) next(error);
    else res.status(500).json({ failed: true });
  }) as ErrorRequestHandler);
  const { port } = await serve(app);

  /** Sends requests over one connection, one after the other without waiting. */
  async function open(...paths: string[]): Promise<Socket> {
    const socket = connect(port, "127.0.0.1");
    socket.on("error", () => {});
    await once(socket, "connect");
    for (const path of paths)
      socket.write(`POST ${path} HTTP/1.1\r\nHost: shop\r\nCookie: ${COOKIES}\r\n\r\n`);
    return socket;
  }

  return {
    app,
    tracker,
    posted,
    lines,
    heard,
    open,
    async post(path = "/", cookie = COOKIES) {
      const response = await fetch(`http://127.0.0.1:${port}${path}`, {
        method: "POST",
        headers: { cookie },
        redirect: "manual",
      });
      return { status: response.status, text: await response.text() };
    },
    /** The paths of the service that were posted to. */
    async reported() {
      await tracker.flush();
      return posted.map(({ path }) => path.replace("/api/v1/tracking/", ""));
    },
  };
}
