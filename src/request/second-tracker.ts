import type { Request } from "express";
import { sessionCookieName } from "./attribution.js";
import type { RequestContext } from "./visitor.js";

const seenBy = new WeakMap<Request, RequestContext>();

/** Logs once if two trackers' `onClick` see one request, and would set the same cookie. */
export function warnOfSecondTracker(req: Request, context: RequestContext): void {
  const other = seenBy.get(req);
  seenBy.set(req, context);
  if (other === undefined || other === context) return;
  const names = cookieNames(context);
  const shared = cookieNames(other).find((name) => names.includes(name));
  if (shared === undefined) return;
  context.journal.once(
    "warn",
    "second tracker",
    `two trackers' \`onClick\` set the cookie \`${shared}\` on one page, so that one of them loses its visitors. Give one of them ` +
      "another `cookieName` and another `session`",
  );
}

function cookieNames({ config }: RequestContext): string[] {
  return [config.cookieName, sessionCookieName(config) ?? []].flat();
}
