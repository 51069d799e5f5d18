import { hash } from "node:crypto";
import type { Request } from "express";
import { isClickIdOfOnClick } from "./click-id.js";
import { visitorCookiesAsSent } from "./cookies.js";

/** The cookie of `keepClickId` that says which click id it has set. */
export function keptCookieOf(cookieName: string): string {
  return `${cookieName}_kept`;
}

export function keptTagOf(id: string): string {
  return hash("sha256", id, "base64url").slice(0, 16);
}

/**
 * The click ids in a request's cookies, as they were sent, and the one among them that
 * `keepClickId` has set.
 */
export function clickIdsIn(req: Request, cookieName: string) {
  const ids = [...new Set(visitorCookiesAsSent(req, cookieName))];
  const tags = ids.length > 0 ? visitorCookiesAsSent(req, keptCookieOf(cookieName)) : [];
  return { ids, kept: tags.length > 0 ? ids.find((id) => tags.includes(keptTagOf(id))) : undefined };
}

/**
 * Of several cookies of this name, the one that this package set; `undefined` if none is. A
 * subdomain that has set one for the whole domain does not choose who earns.
 */
export function ownOfSeveral(req: Request, cookieName: string): string | undefined {
  const header = req.headers?.cookie ?? "";
  const first = header.indexOf(`${cookieName}=`);
  if (first === header.lastIndexOf(`${cookieName}=`)) return undefined;
  const { ids, kept } = clickIdsIn(req, cookieName);
  return kept ?? ids.find(isClickIdOfOnClick);
}
