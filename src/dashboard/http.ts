import type { Request, Response } from "express";
import { policy } from "../browser/shell.js";

/** Thrown on the way to an answer. The page shows its message. */
export class Refused extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

const HEADERS = {
  "content-security-policy": policy,
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "cache-control": "no-store",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "x-robots-tag": "noindex",
};

/** Sets every answer's headers, and removes what the host allows other sites for its own pages. */
export function protect(res: Response): void {
  for (const name of res.getHeaderNames()) if (name.startsWith("access-control-")) res.removeHeader(name);
  for (const [name, value] of Object.entries(HEADERS)) res.setHeader(name, value);
}

export function send(res: Response, status: number, type: string, text: string): void {
  res.statusCode = status;
  res.setHeader("content-type", `${type}; charset=utf-8`);
  res.setHeader("content-length", Buffer.byteLength(text));
  res.end(text);
}

export function sendJson(res: Response, status: number, body: unknown): void {
  send(res, status, "application/json", JSON.stringify(body));
}

/** Refuses another site's page. A person may still follow a link. */
export function refuseForeignReader({ headers }: Request): void {
  const site = headers["sec-fetch-site"];
  if (site === "cross-site" || site === "same-site") throw new Refused(403, "Another site's page asks.");
}

/**
 * Refuses what the dashboard's own page did not ask for: by Sec-Fetch-Site, which no proxy changes;
 * by Origin over plain `http:` to another machine. Browsers send at least one with every POST, and
 * let no page choose it.
 */
export function refuseForeignAction({ headers, secure }: Request): void {
  const { origin, host, "sec-fetch-site": site } = headers;
  if (site === "same-origin") return;
  // Anyone on the way can write a page of `http:`. A proxy that Express does not trust may have
  // taken the `https:` off.
  const isHttps = secure || /^\s*https\b/i.test(String(headers["x-forwarded-proto"] ?? ""));
  const addresses = [`https://${host}`, ...(isHttps ? [] : [`http://${host}`])];
  // A proxy may have added a port that browsers leave out.
  const isOwn = addresses.some((address) => URL.canParse(address) && new URL(address).origin === origin);
  if (site === undefined && isOwn) return;
  throw new Refused(403, "Only the dashboard's own page may ask for this.");
}
