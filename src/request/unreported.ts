import type { Request } from "express";
import type { ConversionKind } from "../conversion/events.js";
import { methodsOf } from "../conversion/kinds.js";
import type { Journal } from "../journal/journal.js";

interface RouteOfRequest {
  readonly name: string;
  /** The same object for each request of this route. */
  readonly identity: object;
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

  return function unreported({ name, identity }: RouteOfRequest, status: number, why: Why): void {
    const isNews = !logged.has(identity);
    logged.add(identity);
    journal.unreported(
      kind,
      isNews
        ? `${name} answered ${status} and reported no ${kind}: ${words[why]}. If none happened, all is well (said once for each route)`
        : undefined,
    );
  };
}

/** Taken when a wrapped handler begins: `next()` changes these. */
export function routeOf({ method, baseUrl, route }: Request, handler: object): RouteOfRequest {
  return { name: `${method} ${baseUrl}${route?.path ?? ""}`, identity: route ?? handler };
}
