import cookieParser from "cookie-parser";
import type { Request, Response } from "express";
import { isTextOfNothing, isVisitorId } from "../events.js";
import type { Signatures } from "../shared/signatures.js";

const parseCookies = cookieParser();

type Cookies = Readonly<Record<string, unknown>>;

/**
 * The cookie's value, if it can be a click id or session id; otherwise `undefined`. Of two cookies of one name the first counts,
 * as in cookie-parser: browsers send the one with the longer path first, then the older one.
 *
 * @param onNothing is called if the value is the text of a missing value.
 */
export function visitorCookie(
  req: Request,
  name: string,
  onNothing?: (text: string) => void,
): string | undefined {
  const cookies = cookiesOf(req);
  const value = Object.hasOwn(cookies, name) ? cookies[name] : undefined;
  if (isTextOfNothing(value)) onNothing?.(value);
  return isVisitorId(value) ? value : undefined;
}

// RFC 6265, section 4.1.1, without quotes around.
const COOKIE_VALUE = /^[!#-+\--:<-[\]-~]+$/;

/** The ids in all cookies of this name, in the form in which the browser sent them: percent signs are not decoded. */
export function visitorCookiesAsSent(req: Request, name: string): string[] {
  return allOf(req, name).filter((value) => COOKIE_VALUE.test(value) && isVisitorId(value));
}

/** The same of signed cookies: the first that is signed counts. */
export function signedCookie(req: Request, name: string, signatures: Signatures): string | undefined {
  for (const signed of allOf(req, name)) {
    const value = signatures.verified(name, signed);
    if (isVisitorId(value)) return value;
  }
  return undefined;
}

/**
 * Whether the browser sent this express-session id. With `saveUninitialized: false`, each request of a new visitor gets a session
 * id that is never sent to the browser.
 */
export function broughtSession(req: Request, sessionId: string): boolean {
  const signed = `s:${sessionId}.`;
  const matches = (value: unknown) =>
    typeof value === "string" && (value === sessionId || value.startsWith(signed));
  return Object.values(cookiesOf(req)).some(matches) || Object.values(signedCookiesOf(req)).some(matches);
}

/** The values of all cookies of this name; cookie-parser keeps one only. A signed value needs no decoding. */
function allOf({ headers }: Request, name: string): string[] {
  return (headers.cookie ?? "")
    .split(";")
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(`${name}=`))
    .map((pair) => pair.slice(name.length + 1));
}

function cookiesOf(req: Request): Cookies {
  const { cookies } = req as { cookies?: unknown };
  if (typeof cookies === "object" && cookies !== null) return cookies as Cookies;
  return cookiesIn(req.headers.cookie);
}

/** The cookies in a Cookie header, as cookie-parser reads them. */
export function cookiesIn(header: string | undefined): Cookies {
  // Not on the request itself: the host's own cookie-parser, mounted later, does nothing if `cookies` is set.
  const copy = { headers: { cookie: header } } as Request;
  parseCookies(copy, {} as Response, () => {});
  return copy.cookies;
}

function signedCookiesOf(req: Request): Cookies {
  return Object(req.signedCookies);
}
