import type { Request, RequestHandler, Response } from "express";
import * as z from "zod/mini";
import base from "../browser/base.css?raw";
import { pageOf } from "../browser/shell.js";
import { systemClock } from "../shared/clock.js";
import { OptionsError } from "../shared/errors.js";
import { readOptions, type SchemaOf } from "../shared/read-options.js";
import type { Affiliate } from "../tracker.js";
import script from "./browser/main.js?script";
import style from "./browser/style.css?raw";
import { act, listFor, wantedIn } from "./dead-letters.js";
import { protect, Refused, refuseForeignAction, refuseForeignReader, send, sendJson } from "./http.js";
import { createState } from "./state.js";

/** What `dashboard()` takes. */
export interface DashboardOptions {
  /**
   * Whether this request may see the dashboard or, if it is a POST, retry and discard dead letters:
   * `true`, or `{ by }` with the name that a notice and a line in the log then have. Called first
   * for every request. If it throws, or gives anything else or a promise of it, the answer is 403.
   */
  readonly authorize: (req: Request) => Authorized | Promise<Authorized>;
}

/** What `authorize` gives. */
export type Authorized = boolean | { readonly by: string } | undefined;

const schema = z.strictObject({
  authorize: z.custom<DashboardOptions["authorize"]>((value) => typeof value === "function", {
    error: "must be a function of the request that returns whether it may see the dashboard",
  }),
} satisfies SchemaOf<DashboardOptions>);

type Route = (req: Request, res: Response, by?: string) => void | Promise<void>;

/**
 * A page for operators: `app.use("/admin/affiliate", dashboard(tracker, { authorize }))`. It shows
 * what waits, the last hour, how each endpoint is, and the dead letters, to be retried or
 * discarded; neither the API key nor an address in full. It answers every request below its path.
 *
 * @throws OptionsError if `authorize` is missing.
 */
export function dashboard(tracker: Affiliate, options: DashboardOptions): RequestHandler {
  if (typeof (tracker as Partial<Affiliate> | undefined)?.stats !== "function") {
    throw new OptionsError("dashboard", ["the first argument must be what affiliate() has returned"]);
  }
  const { authorize } = readOptions("dashboard", schema, options ?? {});
  const { deadLetters } = tracker;
  const state = createState(tracker, systemClock);

  const routes: Record<string, Route> = {
    "GET /": sendPage,
    "GET /style.css": (_req, res) => send(res, 200, "text/css", base + style),
    "GET /main.js": (_req, res) => send(res, 200, "text/javascript", script),
    "GET /state": json(state),
    "GET /dead-letters": json((req) => listFor(deadLetters, wantedIn(req.originalUrl))),
    "POST /retry": action("retry"),
    "POST /discard": action("discard"),
  };
  function action(name: "retry" | "discard"): Route {
    return async (req, res, by) => {
      refuseForeignAction(req);
      sendJson(res, 200, { count: await act(name, deadLetters, wantedIn(req.originalUrl), by) });
    };
  }

  async function authorized(req: Request): Promise<{ readonly by?: string } | undefined> {
    try {
      const answer = await authorize(req);
      if (answer === true) return {};
      // Not any object: a user's own would let every user in.
      const isNamed = typeof answer === "object" && typeof answer.by === "string" && answer.by !== "";
      return isNamed ? { by: answer.by } : undefined;
    } catch {
      return undefined;
    }
  }

  return async function affiliateDashboard(req, res): Promise<void> {
    // Never `next(error)`: the host's error page might show too much to the wrong people.
    try {
      protect(res);
      const reader = await authorized(req);
      if (!reader) return send(res, 403, "text/plain", "Forbidden");
      const { method, path } = req;
      const name = `${method === "HEAD" ? "GET" : method} ${path}`;
      const route = Object.hasOwn(routes, name) ? routes[name] : undefined;
      if (!route) throw new Refused(404, "There is no such page in the dashboard.");
      await route(req, res, reader.by);
    } catch (error) {
      if (res.headersSent) return void res.destroy();
      const { status, message } = error instanceof Refused ? error : STORAGE_FAILS;
      sendJson(res, status, { message });
    }
  };
}

const STORAGE_FAILS = new Refused(503, "The outbox does not answer: its storage fails.");

const page = pageOf("Affiliate delivery");

function sendPage({ originalUrl }: Request, res: Response): void {
  const [path = ""] = originalUrl.split("?");
  if (path.endsWith("/")) return void send(res, 200, "text/html", page);
  // The page's files are beside it, hence the slash. Relative, for a proxy may have cut the path.
  res.setHeader("location", `./${path.slice(path.lastIndexOf("/") + 1)}/${originalUrl.slice(path.length)}`);
  send(res, 302, "text/plain", "The dashboard's address ends with a slash.");
}

function json(read: (req: Request) => unknown): Route {
  return async (req, res) => {
    refuseForeignReader(req);
    sendJson(res, 200, await read(req));
  };
}
