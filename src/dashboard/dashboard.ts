import type { Request, RequestHandler, Response } from "express";
import * as z from "zod/mini";
import base from "../browser/base.css?raw";
import { shellOf } from "../browser/shell.js";
import { systemClock } from "../shared/clock.js";
import { OptionsError } from "../shared/errors.js";
import { readOptions, type SchemaOf } from "../shared/read-options.js";
import type { Affiliate } from "../tracker.js";
import icon from "./browser/icon.svg?raw";
import script from "./browser/main.js?script";
import style from "./browser/style.css?raw";
import { act, listFor, querySchema, sumOf, wantedFrom } from "./dead-letters.js";
import {
  protect,
  Refused,
  readJson,
  refuseForeignAction,
  refuseForeignReader,
  send,
  sendJson,
  tokenFor,
} from "./http.js";
import { recordRecent } from "./recent.js";
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

const A_FUNCTION = "must be a function of the request that returns whether it may see the dashboard";

const schema = z.strictObject({
  authorize: z.custom<DashboardOptions["authorize"]>((value) => typeof value === "function", {
    error: A_FUNCTION,
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
  const state = createState(tracker, recordRecent(tracker, systemClock), systemClock);

  const routes = new Map<string, Route>([
    ["GET /", page],
    ["GET /state", json((req, res) => ({ token: tokenFor(req, res), ...state() }))],
    ["GET /dead-letters", json((req) => listFor(deadLetters, queryOf(req)))],
    ["GET /sum", json((req) => sumOf(deadLetters, queryOf(req)))],
  ]);
  for (const action of ["retry", "discard"] as const) {
    routes.set(`POST /${action}`, async (req, res, by) => {
      refuseForeignAction(req);
      const wanted = wantedFrom(await readJson(req));
      sendJson(res, 200, { count: await act(action, deadLetters, wanted, by) });
    });
  }
  for (const [name, type, text] of files) {
    routes.set(`GET /${name}`, (_req, res) => send(res, 200, type, text));
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
      const route = routes.get(`${method === "HEAD" ? "GET" : method} ${path}`);
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

function page({ originalUrl }: Request, res: Response): void {
  const [path = ""] = originalUrl.split("?");
  if (path.endsWith("/")) {
    send(res, 200, "text/html", pageText);
    return;
  }
  // The page's files are beside it, hence the slash. Relative, for a proxy may have cut the path.
  res.setHeader("location", `./${path.slice(path.lastIndexOf("/") + 1)}/${originalUrl.slice(path.length)}`);
  send(res, 302, "text/plain", "The dashboard's address ends with a slash.");
}

function json(read: (req: Request, res: Response) => unknown): Route {
  return async (req, res) => {
    refuseForeignReader(req);
    sendJson(res, 200, await read(req, res));
  };
}

function queryOf(req: Request): z.output<typeof querySchema> {
  const query = new URLSearchParams(req.originalUrl.split("?")[1]);
  const { success, data } = querySchema.safeParse(Object.fromEntries(query));
  if (!success) throw new Refused(400, "The query may have `kind`, `reason` and `limit`.");
  return data;
}

const pageText = shellOf("Affiliate delivery", "icon.svg");

/** The page's files: name, type and text. */
const files = [
  ["base.css", "text/css", base],
  ["style.css", "text/css", style],
  ["icon.svg", "image/svg+xml", icon],
  ["main.js", "text/javascript", script],
] as const;
