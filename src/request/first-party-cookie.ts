import type { Request } from "express";
import * as z from "zod/mini";
import type { Journal } from "../journal/journal.js";
import { OptionsError } from "../shared/errors.js";
import type { SchemaOf } from "../shared/read-options.js";

const LONGEST_HOST = 253;
const DAY_MS = 24 * 60 * 60 * 1_000;

/** How the cookies are set that keep a visitor's ids. @inline */
export interface CookieSettings {
  /** The cookies' domain: `shop.example` includes its subdomains. Default: the host alone. */
  readonly domain?: string | undefined;
  /** How long the cookies last, in milliseconds: at least 1,000. Default 30 days. */
  readonly maxAgeMs?: number | undefined;
}

const aDomain = "must be a domain";
const aDuration = "must be at least 1,000 milliseconds: browsers count in seconds";

export const cookieSettings = {
  domain: z.optional(z.string(aDomain).check(z.regex(/^\.?[a-z0-9-]+(\.[a-z0-9-]+)*$/i, aDomain))),
  maxAgeMs: z._default(z.int(aDuration).check(z.minimum(1_000, aDuration)), 30 * DAY_MS),
} satisfies SchemaOf<CookieSettings>;

/** Browsers refuse a cookie with such a name unless it is `Secure` (RFC 6265bis). */
const NEEDS_HTTPS = /^__(Host|Secure)-/i;

/** @throws OptionsError if browsers would refuse one of these cookies on every page. */
export function checkDomain(factory: string, { domain }: CookieSettings, names: readonly string[]): void {
  const name = domain === undefined ? undefined : names.find((cookie) => /^__Host-/i.test(cookie));
  if (name === undefined) return;
  throw new OptionsError(factory, [
    `\`domain\` must be left out: browsers refuse a cookie \`${name}\` with a domain, because \`__Host-\` keeps it to one host`,
  ]);
}

/** The cookie as `Set-Cookie` has it, with the value as it is. If browsers would lose it, logs once why. */
export function firstPartyCookie(
  req: Request,
  { name, value, httpOnly }: { name: string; value: string; httpOnly: boolean },
  { domain, maxAgeMs }: CookieSettings & { readonly maxAgeMs: number },
  journal: Journal,
): string {
  if (domain !== undefined && !isWithin(req.hostname, domain)) {
    journal.once(
      "cookie domain",
      `cookies are set for the domain "${domain}", and a page was opened at "${req.hostname.slice(0, LONGEST_HOST)}": browsers ` +
        "refuse them there. Check `domain`; behind a proxy, set Express' `trust proxy`",
    );
  }
  if (!req.secure && /^\s*https\b/i.test(req.get("x-forwarded-proto") ?? "")) {
    journal.once(
      "untrusted proxy",
      "a request says `X-Forwarded-Proto: https`, and Express does not trust it: its cookies are not `Secure`, and `clickedUrl` " +
        "begins with http:. Behind a proxy, set Express' `trust proxy`",
    );
  }
  return [
    `${name}=${value}; Max-Age=${Math.floor(maxAgeMs / 1_000)}`,
    domain && `Domain=${domain}`,
    `Path=/; Expires=${new Date(Date.now() + maxAgeMs).toUTCString()}`,
    httpOnly && "HttpOnly",
    (req.secure || NEEDS_HTTPS.test(name)) && "Secure",
    "SameSite=Lax",
  ]
    .filter(Boolean)
    .join("; ");
}

/** @param hostname `undefined` in a request of HTTP/1.0 without Host. */
export function isWithin(hostname: string | undefined, domain: string): boolean {
  if (hostname === undefined) return true;
  const ending = `.${domain.replace(/^\./, "")}`.toLowerCase();
  return `.${hostname}`.toLowerCase().endsWith(ending);
}
