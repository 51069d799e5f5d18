import cookieParser from "cookie-parser";
import type { Request, Response } from "express";
import { isVisitorId } from "../events.js";
import type { Signatures } from "./signatures.js";

const parseCookies = cookieParser();

type Cookies = Readonly<Record<string, unknown>>;

/**
 * The cookie's value, if it is one that can be a click id or session id; anything else is as good as no cookie. Of two
 * cookies of one name the first counts, as cookie-parser has it: browsers send the one with the longer path first, then the
 * older one. With `signatures` it is the first that is signed.
 */
export function visitorCookie(req: Request, name: string, signatures?: Signatures): string | undefined {
  if (signatures) {
    for (const signed of allOf(req, name)) {
      const value = signatures.verified(name, signed);
      if (isVisitorId(value)) return value;
    }
    return undefined;
  }
  const cookies = cookiesOf(req);
  const value = Object.hasOwn(cookies, name) ? cookies[name] : undefined;
  return isVisitorId(value) ? value : undefined;
}

/**
 * Whether the browser sent this express-session id along. With `saveUninitialized: false` every stranger's request has
 * a session id of its own that nobody will ever see again.
 */
export function broughtSession(req: Request, sessionId: string): boolean {
  const signed = `s:${sessionId}.`;
  const matches = (value: unknown) =>
    typeof value === "string" && (value === sessionId || value.startsWith(signed));
  return Object.values(cookiesOf(req)).some(matches) || Object.values(signedCookiesOf(req)).some(matches);
}

/** The values of all cookies of this name, which cookie-parser keeps one of. What is signed has no need to be decoded. */
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

/** What is in a Cookie header, as cookie-parser reads it. */
export function cookiesIn(header: string | undefined): Cookies {
  // On a stand-in, not on the request: a cookie-parser that the host mounts further down must still find its work undone.
  const standIn = { headers: { cookie: header } } as Request;
  parseCookies(standIn, {} as Response, () => {});
  return standIn.cookies;
}

function signedCookiesOf(req: Request): Cookies {
  return Object(req.signedCookies);
}
