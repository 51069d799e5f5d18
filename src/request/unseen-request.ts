import type { Request } from "express";
import type { Journal } from "../journal/journal.js";
import { routeOf } from "./unreported.js";

/** The prototypes of apps' requests that tell of such a read. */
const watched = new WeakSet<object>();
let isOwnRead = false;

/**
 * From its first request that a tracker sees, an app logs once that a handler read `req.affiliate` in a request that no tracker had
 * seen: its route is above the tracker. `app.request`, Express's prototype for the requests of one app, has a getter for that.
 * The handler gets `undefined`, as before: a mistake that shows in each request is found sooner than one that shows until that first one.
 */
export function watchUnseen(req: Request, journal: Journal): void {
  // A request of Node alone has no app.
  const { request: requests } = (req.app ?? {}) as { readonly request?: Request };
  if (!requests || watched.has(requests)) return;
  watched.add(requests);
  // The app is within a watched one, or has something of its own under this name.
  if ("affiliate" in requests) return;
  Object.defineProperty(requests, "affiliate", {
    configurable: true,
    get(this: Request) {
      if (!isOwnRead && this !== requests) tell(this, journal);
      return undefined;
    },
    set(this: Request, value: unknown) {
      Object.defineProperty(this, "affiliate", {
        value,
        configurable: true,
        enumerable: true,
        writable: true,
      });
    },
  });
}

/** `req.affiliate`, for this package's own look at it. */
export function presentIn(req: Request): Request["affiliate"] {
  isOwnRead = true;
  try {
    return req.affiliate;
  } finally {
    isOwnRead = false;
  }
}

function tell(req: Request, journal: Journal): void {
  const { name } = routeOf(req, tell);
  journal.once(
    "warn",
    "unseen request",
    `${name} read \`req.affiliate\`, and no tracker had seen the request, so it is undefined: mount \`app.use(tracker)\` above this ` +
      "route, wrap its handler in `tracker.onPayment` or `tracker.onRegistration`, or call " +
      "`tracker.trackPayment(payment, tracker.attributionOf(req))`",
  );
}
