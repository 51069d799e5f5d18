import { randomBytes, timingSafeEqual } from "node:crypto";
import type { Request, Response } from "express";
import { Refused } from "./http.js";

// A token that another site's page cannot read, in a cookie that its requests do not carry. The cookie is the browser's to keep,
// so any process behind a load balancer can compare the two.

const COOKIE = "affiliate_dashboard";
const FOUND = /(?:^|; ?)affiliate_dashboard=([\w-]{43})(?:;|$)/;

/** The header in which the page sends its token. */
export const TOKEN_HEADER = "x-affiliate-token";

/** The token for the page: the one that its browser has, or a new one. */
export function tokenFor(req: Request, res: Response): string {
  const own = tokenOf(req);
  if (own !== undefined) return own;
  const token = randomBytes(32).toString("base64url");
  // Without `Path` it is sent below the folder that the browser asked for, whatever a proxy has taken from the address.
  res.append("set-cookie", `${COOKIE}=${token}; HttpOnly; SameSite=Strict${req.secure ? "; Secure" : ""}`);
  return token;
}

function tokenOf({ headers }: Request): string | undefined {
  return FOUND.exec(headers.cookie ?? "")?.[1];
}

/** Refuses what a page of another site asks for. A person may still follow a link to the page. */
export function refuseForeignReader({ headers }: Request): void {
  const site = headers["sec-fetch-site"];
  if (site === "cross-site" || site === "same-site") throw new Refused(403, "Another site's page asks.");
}

/** Refuses an action that the dashboard's own page did not ask for. */
export function refuseForeignAction(req: Request): void {
  if (!isSameOrigin(req)) throw new Refused(403, "Only the dashboard's own page may ask for this.");
  const sent = Buffer.from(String(req.headers[TOKEN_HEADER] ?? ""));
  const own = Buffer.from(tokenOf(req) ?? "");
  if (own.length === 0 || sent.length !== own.length || !timingSafeEqual(sent, own)) {
    throw new Refused(403, "The page is out of date. Reload it, and try again.");
  }
}

/** Browsers say it in Sec-Fetch-Site, where a proxy cannot get it wrong; over plain `http:` to another machine only in Origin. */
function isSameOrigin({ headers }: Request): boolean {
  const { origin, host } = headers;
  const site = headers["sec-fetch-site"];
  if (site !== undefined) return site === "same-origin";
  return origin !== undefined && URL.canParse(origin) && new URL(origin).host === host?.toLowerCase();
}
