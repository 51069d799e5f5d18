import { randomBytes, timingSafeEqual } from "node:crypto";
import type { Request, Response } from "express";
import { policyWith } from "../browser/shell.js";

/** Thrown on the way to an answer. The page shows its message. */
export class Refused extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

const HEADERS = {
  "content-security-policy": policyWith("'self'"),
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

const MOST_BYTES = 4_096;

/** The JSON of a body of at most 4 KiB, whether or not the host's parser has read it. */
export async function readJson(req: Request): Promise<unknown> {
  const type = req.headers["content-type"]?.split(";")[0]?.trim().toLowerCase();
  if (type !== "application/json") throw new Refused(415, "The body must be JSON.");
  // Not `req.body !== undefined`: some parsers set it for bodies that they leave unread.
  const body: unknown = req.readableEnded ? req.body : await bytesOf(req);
  if (typeof body !== "string" && !Buffer.isBuffer(body)) return body;
  try {
    return JSON.parse(String(body));
  } catch {
    throw new Refused(400, "The body is not JSON.");
  }
}

async function bytesOf(req: Request): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  // The answer goes out on the same connection, so the request must not be destroyed.
  for await (const chunk of req.iterator({ destroyOnReturn: false })) {
    bytes += chunk.length;
    if (bytes > MOST_BYTES) {
      req.res?.setHeader("connection", "close");
      throw new Refused(413, `The body is longer than ${MOST_BYTES} bytes.`);
    }
    chunks.push(Buffer.from(chunk));
  }
  return Buffer.concat(chunks);
}

// Another site's page cannot read the token, and its requests do not carry the cookie. The browser
// keeps both, so any process behind a load balancer can compare them.

const COOKIE = "affiliate_dashboard";
const FOUND = /(?:^|; ?)affiliate_dashboard=([\w-]{43})(?:;|$)/;

/** The page sends its token in this header. */
const TOKEN_HEADER = "x-affiliate-token";

/** The token that the browser has, or a new one. */
export function tokenFor(req: Request, res: Response): string {
  const present = tokenOf(req);
  if (present !== undefined) return present;
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
  const kept = Buffer.from(tokenOf(req) ?? "");
  if (kept.length === 0 || sent.length !== kept.length || !timingSafeEqual(sent, kept)) {
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
