import type { Request } from "express";
import type { EventKind } from "../events.js";
import type { Journal } from "../journal/journal.js";

/** A route as its first visitor found it. */
interface RouteOfRequest {
  readonly name: string;
  /** The same object for each request of this route. */
  readonly identity: object;
}

/** Why a handler that answered may have reported nothing, and what to write instead. */
export type Why = "nothing" | "response" | "next" | "late" | "pick";

const TRACK = { registration: "trackRegistration", payment: "trackPayment" } as const;
const WRAP = { registration: "onRegistration", payment: "onPayment" } as const;

const wordsFor = (kind: Exclude<EventKind, "click">): Record<Why, string> => ({
  nothing: `its handler returned nothing. Return the ${kind} that happened`,
  response: `its handler returned the response. Return the ${kind} instead`,
  next: `its handler called \`next()\`, and another one answered. Wrap the one that knows the ${kind}`,
  late:
    "its handler returned nothing and answered later. A `return` within a callback is lost, and so is one that a wrapper such as `catchAsync` " +
    `discards. Call \`req.affiliate.${TRACK[kind]}(…)\` in the callback, or write \`catchAsync(tracker.${WRAP[kind]}(handler))\``,
  pick: `its \`pick\` returned nothing. Return the ${kind} that happened`,
});

/**
 * Counts the wrapped handlers that answered and reported nothing. Logs the first one of each route, in production too: after a
 * refactoring that drops a `return`, nothing else would show that no affiliate earns any more.
 */
export function createUnreported(kind: Exclude<EventKind, "click">, journal: Journal) {
  const told = new WeakSet<object>();
  const words = wordsFor(kind);

  return function unreported({ name, identity }: RouteOfRequest, status: number, why: Why): void {
    const isNews = !told.has(identity);
    told.add(identity);
    journal.unreported(
      kind,
      isNews
        ? `${name} answered ${status} and reported no ${kind}: ${words[why]}. If none happened, all is well (said once for each route)`
        : undefined,
    );
  };
}

/** To be called when a wrapped handler begins: `next()` changes these. */
export function routeOf({ method, baseUrl, route }: Request, handler: object): RouteOfRequest {
  return { name: `${method} ${baseUrl}${route?.path ?? ""}`, identity: route ?? handler };
}
