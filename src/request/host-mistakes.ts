import { IncomingMessage } from "node:http";
import type { Request, Response } from "express";
import type { Config } from "../config.js";
import type { ConversionKind } from "../conversion/events.js";
import { methodsOf } from "../conversion/kinds.js";
import type { Journal } from "../journal/journal.js";
import { landingOf } from "./landing-page.js";
import { isOpenedByPerson } from "./page-view.js";

// What a host does by mistake, and would not notice. Each is logged once.

/**
 * Logs once per app that a handler above the tracker read `req.affiliate`, which no tracker had
 * set. For that, `app.request` (Express's prototype of one app's requests) has a getter from the
 * first request that a tracker sees. The handler still gets `undefined`: a mistake in each request
 * is found sooner than one that ends with that first request.
 */
export function watchUnseen(req: Request, journal: Journal): void {
  // A request of Node alone has no app.
  const { request: requests } = (req.app ?? {}) as { readonly request?: Request };
  // It has the getter, is within an app that has it, or has something of its own under this name.
  if (!requests || "affiliate" in requests) return;
  // Does not throw if the host has frozen it.
  Reflect.defineProperty(requests, "affiliate", {
    configurable: true,
    get(this: Request) {
      if (this !== requests) warn(this, journal);
      return undefined;
    },
    set(this: Request, value) {
      setAffiliate(this, value);
    },
  });
}

/** Sets `req.affiliate`, whatever its prototypes have under this name. */
export function setAffiliate(req: Request, value: Request["affiliate"]): void {
  Object.defineProperty(req, "affiliate", { value, configurable: true, enumerable: true, writable: true });
}

function warn(req: Request, journal: Journal): void {
  const { name } = routeOf(req, warn);
  journal.once(
    "unseen request",
    `${name} read \`req.affiliate\`, and no tracker had seen the request, so it is undefined: mount \`app.use(tracker)\` above this ` +
      "route, wrap its handler in `tracker.onPayment` or `tracker.onRegistration`, or call " +
      "`tracker.trackPayment(payment, tracker.attributionOf(req))`",
  );
}

/**
 * Whether Express itself calls a function that makes middleware, as in `app.use(affiliate)`. Then
 * the request passes, and `warn` logs what to write instead.
 */
export function passesUncalled(
  args: readonly unknown[],
  { name, written, warn }: { name: string; written: string; warn: (line: string) => void },
): boolean {
  const [req, , next] = args;
  if (!(req instanceof IncomingMessage) || typeof next !== "function") return false;
  warn(
    `\`${name}\` was passed to Express without a call, so nothing is reported there: write \`${written}\``,
  );
  next();
  return true;
}

type OneTracker = { readonly config: Config; readonly journal: Journal };

/** Which tracker's `onClick` has seen a request last. All trackers share it. */
const seenBy = new WeakMap<Request, OneTracker>();

/** An `onClick` sees this request. Logs once if another tracker's would set the same cookie. */
export function seenByOnClick(req: Request, context: OneTracker): void {
  const last = seenBy.get(req);
  seenBy.set(req, context);
  if (last === undefined || last === context) return;
  const [theirs, ours] = [last, context].map(({ config }) => [config.cookieName, config.sessionCookie]);
  const shared = theirs?.find((name) => name !== undefined && ours?.includes(name));
  if (shared === undefined) return;
  context.journal.once(
    "second tracker",
    `two trackers' \`onClick\` set the cookie \`${shared}\` on one page, so that one of them loses its visitors. Give one of them ` +
      "another `cookieName` and another `session`",
  );
}

const LONGEST_PATH = 100;

/** Requests whose reference an `onClick` has read. All trackers share it: one that reads it is enough. */
export const handled = new WeakSet<Request>();

export type ReferenceWatch = ReturnType<typeof createReferenceWatch>;

/**
 * Logs the first page that is opened with an affiliate's reference that no `onClick` reads, such
 * as a static file served before it. Does nothing without `onClick`, as on sites with the browser
 * snippet alone.
 */
export function createReferenceWatch(journal: Journal) {
  const params = new Set<string>();

  return {
    /** Watches a parameter that an `onClick` reads. */
    expect(param: string): void {
      params.add(param);
    },
    /** Looks at the address now and, if it has a reference, at the finished response. */
    watch(req: Request, res: Response): void {
      // A request of Node alone has no `originalUrl`.
      const isInAddress = (param: string) => req.originalUrl?.includes(`${param}=`);
      const param = [...params].find((name) => isInAddress(name) && landingOf(req, name));
      if (param === undefined || !isOpenedByPerson(req)) return;
      res.once("finish", () => {
        // A redirect that keeps the reference leads to the page where it counts.
        const isKept = String(res.getHeader("Location") ?? "").includes(`${param}=`);
        if (handled.has(req) || res.statusCode >= 400 || isKept) return;
        const [path = ""] = req.originalUrl.split("?", 1);
        journal.once(
          "unhandled reference",
          `a page was opened with an affiliate's reference (\`?${param}=\`) and no \`onClick\` saw it, so it is no click: "${path.slice(0, LONGEST_PATH)}". ` +
            "Mount `app.use(tracker, tracker.onClick())` before routes and static files. If the browser snippet counts this page, all is well",
        );
      });
    },
  };
}

/** Why a handler that answered may have reported nothing, and what to write instead. */
export type Why = "nothing" | "response" | "next" | "late" | "pick";

const wordsFor = (kind: ConversionKind): Record<Why, string> => ({
  nothing: `its handler returned nothing. Return the ${kind} that happened`,
  response: `its handler returned the response. Return the ${kind} instead`,
  next: `its handler called \`next()\`, and another one answered. Wrap the one that knows the ${kind}`,
  late:
    "its handler returned nothing and answered later. A `return` within a callback is lost, and so is one that a wrapper such as `catchAsync` " +
    `discards. Call \`req.affiliate.${methodsOf(kind).track}(…)\` in the callback, or write \`catchAsync(tracker.${methodsOf(kind).wrap}(handler))\``,
  pick: `its \`pick\` returned nothing. Return the ${kind} that happened`,
});

/**
 * Logs once for each route, in production too, that a wrapped handler answered and reported
 * nothing: if a refactoring drops a `return`, nothing else shows that no affiliate earns any more.
 */
export function createUnreported(kind: ConversionKind, journal: Journal) {
  const logged = new WeakSet<object>();
  const words = wordsFor(kind);

  return function unreported(route: ReturnType<typeof routeOf>, status: number, why: Why): void {
    const { name, identity } = route;
    const line = `${name} answered ${status} and reported no ${kind}: ${words[why]}. If none happened, all is well (said once for each route)`;
    journal.unreported(kind, logged.has(identity) ? undefined : line);
    logged.add(identity);
  };
}

/** Taken when a wrapped handler begins: `next()` changes these. A plain Node request has no path. */
export function routeOf({ method, baseUrl = "", route }: Request, handler: object) {
  // The same object for each request of this route.
  const identity: object = route ?? handler;
  return { name: `${method} ${baseUrl}${route?.path ?? ""}`.trimEnd(), identity };
}
