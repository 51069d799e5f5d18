import type { CookieOptions, Request } from "express";
import * as z from "zod/mini";
import type { Journal } from "../journal/journal.js";
import type { SchemaOf } from "../shared/read-options.js";

const LONGEST_HOST = 253;
const DAY_MS = 24 * 60 * 60 * 1_000;

/** How the cookies are set that keep a visitor's ids. @inline */
export interface CookieSettings {
  /** The cookies' domain: `shop.example` includes its subdomains. Default: the host alone. */
  readonly domain?: string | undefined;
  /** How long the cookies last, in milliseconds. Default 30 days. */
  readonly maxAgeMs?: number | undefined;
}

const aDomain = { error: "must be a domain" };
const aDuration = { error: "must be a positive number of milliseconds" };

export const cookieSettings = {
  domain: z.optional(z.string(aDomain).check(z.regex(/^\.?[a-z0-9-]+(\.[a-z0-9-]+)*$/i, aDomain))),
  maxAgeMs: z._default(z.int(aDuration).check(z.minimum(1, aDuration)), 30 * DAY_MS),
} satisfies SchemaOf<CookieSettings>;

/** Attributes of a cookie that scripts can read. Logs once why browsers would lose it, if so. */
export function firstPartyCookie(
  req: Request,
  { domain, maxAgeMs }: CookieSettings,
  journal: Journal,
): CookieOptions {
  if (domain !== undefined && !isWithin(req.hostname, domain)) {
    journal.once(
      "warn",
      "cookie domain",
      `cookies are set for the domain "${domain}", and a page was opened at "${req.hostname.slice(0, LONGEST_HOST)}": browsers ` +
        "refuse them there. Check `domain`; behind a proxy, set Express' `trust proxy`",
    );
  }
  if (!req.secure && /^\s*https\b/i.test(req.get("x-forwarded-proto") ?? "")) {
    journal.once(
      "warn",
      "untrusted proxy",
      "a request says `X-Forwarded-Proto: https`, and Express does not trust it: its cookies are not `Secure`, and `clickedUrl` " +
        "begins with http:. Behind a proxy, set Express' `trust proxy`",
    );
  }
  return { path: "/", sameSite: "lax", secure: req.secure, maxAge: maxAgeMs, domain };
}

/** @param hostname `undefined` in a request of HTTP/1.0 without Host. */
function isWithin(hostname: string | undefined, domain: string): boolean {
  if (hostname === undefined) return true;
  const ending = `.${domain.replace(/^\./, "")}`.toLowerCase();
  return `.${hostname}`.toLowerCase().endsWith(ending);
}
