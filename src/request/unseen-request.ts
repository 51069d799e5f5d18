import type { Request } from "express";
import type { Journal } from "../journal/journal.js";
import { routeOf } from "./unreported.js";

/** Prototypes of apps' requests that have the getter. */
const watched = new WeakSet<object>();
/** Keeps what a tracker sets, and says on a prototype that it has the getter. */
const KEPT = Symbol("affiliate");
const HAS_GETTER = Symbol("getter");
type Keeping = Request & { [KEPT]?: Request["affiliate"]; [HAS_GETTER]?: true };
let isOwnRead = false;

/**
 * Logs once per app that a handler above the tracker read `req.affiliate`, which no tracker had
 * set. For that, `app.request` (Express's prototype of one app's requests) has a getter from the
 * first request that a tracker sees. The handler still gets `undefined`: a mistake in each request
 * is found sooner than one that ends with that first request.
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
    get(this: Keeping) {
      if (KEPT in this) return this[KEPT];
      if (!isOwnRead && this !== requests) warn(this, journal);
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
  // A request that leaves an app within another one loses the getter of the inner one.
  if (!Object.hasOwn(Object.getPrototypeOf(requests), "app")) (requests as Keeping)[HAS_GETTER] = true;
}

/** Sets `req.affiliate`. Not by the setter, which costs each request several times as much. */
export function setAffiliate(req: Request, affiliate: NonNullable<Request["affiliate"]>): void {
  if ((req as Keeping)[HAS_GETTER]) {
    (req as Keeping)[KEPT] = affiliate;
    // The host may have something of its own under this name, nearer to the request.
    if (getAffiliate(req) === affiliate) return;
  }
  req.affiliate = affiliate;
}

/** `req.affiliate`, read without the log line. */
export function getAffiliate(req: Request): Request["affiliate"] {
  isOwnRead = true;
  try {
    return req.affiliate;
  } finally {
    isOwnRead = false;
  }
}

function warn(req: Request, journal: Journal): void {
  const { name } = routeOf(req, warn);
  journal.once(
    "warn",
    "unseen request",
    `${name} read \`req.affiliate\`, and no tracker had seen the request, so it is undefined: mount \`app.use(tracker)\` above this ` +
      "route, wrap its handler in `tracker.onPayment` or `tracker.onRegistration`, or call " +
      "`tracker.trackPayment(payment, tracker.attributionOf(req))`",
  );
}
