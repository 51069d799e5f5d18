import { hash } from "node:crypto";
import cookieParser from "cookie-parser";
import type { Request, Response } from "express";
import { isVisitorId } from "../conversion/visitor-ids.js";
import type { Signatures } from "../shared/signatures.js";
import { isClickIdOfOnClick } from "./click-id.js";

const parseCookies = cookieParser();

/**
 * What a middleware has parsed, and the rest from the header. Of two cookies of one name the first
 * counts, as in cookie-parser: browsers send the one with the longer path first, then the older one.
 */
export function cookiesOf({ headers, cookies }: Request): Request["cookies"] {
  return Object.assign(Object.create(null), cookiesIn(headers?.cookie), cookies);
}

/** The cookies in a Cookie header, as cookie-parser reads them. */
export function cookiesIn(header: string | undefined): Request["cookies"] {
  // On a copy: the host's own cookie-parser, mounted later, does nothing if `cookies` is set.
  const copy = { headers: { cookie: header } } as Request;
  parseCookies(copy, {} as Response, () => {});
  return copy.cookies;
}

/** All cookies of this name (cookie-parser keeps one), as sent. Signed values need no decoding. */
export function cookiesNamed({ headers }: Request, name: string): string[] {
  return (headers?.cookie ?? "")
    .split(";")
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(`${name}=`))
    .map((pair) => pair.slice(name.length + 1));
}

/** The id in the first cookie of this name that is signed. */
export function signedCookie(req: Request, name: string, signatures: Signatures): string | undefined {
  for (const signed of cookiesNamed(req, name)) {
    const value = signatures.verified(name, signed);
    if (isVisitorId(value)) return value;
  }
  return undefined;
}

/**
 * Whether the browser sent this express-session id. With `saveUninitialized: false`, each request
 * of a new visitor gets a session id that the browser never gets.
 */
export function broughtSession({ headers }: Request, sessionId: string): boolean {
  return Object.values<unknown>(cookiesIn(headers?.cookie)).some(
    (value) => typeof value === "string" && (value === sessionId || value.startsWith(`s:${sessionId}.`)),
  );
}

// RFC 6265, section 4.1.1, without quotes around.
const COOKIE_VALUE = /^[!#-+\--:<-[\]-~]+$/;

/** The ids in all cookies of this name, as the browser sent them: percent signs not decoded. */
function visitorCookiesAsSent(req: Request, name: string): string[] {
  return cookiesNamed(req, name).filter((value) => COOKIE_VALUE.test(value) && isVisitorId(value));
}

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
export function onlyOurs(req: Request, cookieName: string): unknown {
  const header = req.headers?.cookie ?? "";
  const first = header.indexOf(`${cookieName}=`);
  if (first === header.lastIndexOf(`${cookieName}=`)) return undefined;
  const { ids, kept } = clickIdsIn(req, cookieName);
  const id = kept ?? ids.find(isClickIdOfOnClick);
  // Decoded like a single cookie.
  return id === undefined ? undefined : cookiesIn(`${cookieName}=${id}`)[cookieName];
}
