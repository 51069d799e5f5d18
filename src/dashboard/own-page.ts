import { randomBytes, timingSafeEqual } from "node:crypto";
import type { Request, Response } from "express";
import { Refused } from "./http.js";

// Another site's page cannot read the token, and its requests do not carry the cookie. The browser
// keeps both, so any process behind a load balancer can compare them.

const COOKIE = "affiliate_dashboard";
const FOUND = /(?:^|; ?)affiliate_dashboard=([\w-]{43})(?:;|$)/;

/** The page sends its token in this header. */
export const TOKEN_HEADER = "x-affiliate-token";

/** The token that the browser has, or a new one. */
export function tokenFor(req: Request, res: Response): string {
  const own = tokenOf(req);
  if (own !== undefined) return own;
  const token = randomBytes(32).toString("base64url");
  // No `Path`: the browser takes the folder that it asked for, whatever a proxy has cut.
  res.append("set-cookie", `${COOKIE}=${token}; HttpOnly; SameSite=Strict${req.secure ? "; Secure" : ""}`);
  return token;
}

function tokenOf({ headers }: Request): string | undefined {
  return FOUND.exec(headers.cookie ?? "")?.[1];
}

/** Refuses another site's page. A person may still follow a link. */
export function refuseForeignReader({ headers }: Request): void {
  const site = headers["sec-fetch-site"];
  if (site === "cross-site" || site === "same-site") throw new Refused(403, "Another site's page asks.");
}

/** Refuses what the dashboard's own page did not ask for. */
export function refuseForeignAction(req: Request): void {
  if (!isSameOrigin(req)) throw new Refused(403, "Only the dashboard's own page may ask for this.");
  const sent = Buffer.from(String(req.headers[TOKEN_HEADER] ?? ""));
  const own = Buffer.from(tokenOf(req) ?? "");
  if (own.length === 0 || sent.length !== own.length || !timingSafeEqual(sent, own)) {
    throw new Refused(403, "The page is out of date. Reload it, and try again.");
  }
}

/** By Sec-Fetch-Site, which no proxy changes; Origin over plain `http:` to another machine. */
function isSameOrigin({ headers, secure }: Request): boolean {
  const { origin, host } = headers;
  const site = headers["sec-fetch-site"];
  if (site !== undefined) return site === "same-origin";
  if (origin === undefined || !URL.canParse(origin)) return false;
  const from = new URL(origin);
  // Anyone on the way can write a page of `http:`. A proxy that Express does not trust may have
  // taken the `https:` off.
  const isHttps = secure || /^\s*https\b/i.test(String(headers["x-forwarded-proto"] ?? ""));
  return from.host === host?.toLowerCase() && (from.protocol === "https:" || !isHttps);
}
