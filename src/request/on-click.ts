import { hash, randomBytes, randomUUID } from "node:crypto";
import type { CookieOptions, Request, RequestHandler, Response } from "express";
import { isbot } from "isbot";
import * as z from "zod/mini";
import type { SkipReason } from "../journal/journal.js";
import { harmless } from "../shared/harmless.js";
import { readOptions, type SchemaOf } from "../shared/read-options.js";
import { type RequestAttribution, SESSION_COOKIE } from "./attribution.js";
import { isOpenedByPerson, landingOf, userAgentOf } from "./landing-page.js";
import { keepFromSharedCaches } from "./private-response.js";
import { affiliateOf, type RequestContext } from "./visitor.js";

const HOUR_MS = 60 * 60 * 1_000;

/** What `tracker.onClick()` takes. A wrong one throws `OptionsError`. */
export interface OnClickOptions {
  /** The query parameter that holds the affiliate's reference. Default `ref`. */
  readonly param?: string | undefined;
  /** The cookies' domain, such as `shop.example` to share them among its subdomains. Default: the host alone. */
  readonly domain?: string | undefined;
  /** How long the cookies last, in milliseconds. Default 30 days. */
  readonly maxAgeMs?: number | undefined;
}

const aParameter = { error: "must be a query parameter's name" };
const aDomain = { error: "must be a domain" };
const aDuration = { error: "must be a positive number of milliseconds" };

const schema = z.strictObject({
  param: z._default(z.string(aParameter).check(z.minLength(1, aParameter)), "ref"),
  domain: z.optional(z.string(aDomain).check(z.regex(/^\.?[a-z0-9-]+(\.[a-z0-9-]+)*$/i, aDomain))),
  maxAgeMs: z._default(z.int(aDuration).check(z.minimum(1, aDuration)), 30 * 24 * HOUR_MS),
} satisfies SchemaOf<OnClickOptions>);

/**
 * Middleware for landing pages: turns `?ref=CODE` into a click (§4.1) and sets the cookies that later events are attributed
 * by. It is for sites without the service's browser snippet; both together would count a visit twice.
 */
export function createOnClick(context: RequestContext) {
  return function onClick(options: OnClickOptions = {}): RequestHandler {
    const { param, domain, maxAgeMs } = readOptions("onClick", schema, options);

    function land(req: Request, res: Response): void {
      const landing = landingOf(req, param);
      if (!landing) return;
      // Whoever asks: if a cache kept the response to a bot or a reload, it would answer the next visitors, and count none of them.
      keepFromSharedCaches(res);
      if (req.method !== "GET") return;
      const { reference } = landing;
      const visitor = affiliateOf(req, context);
      const { attribution } = visitor;
      const skipReason = reasonToSkip(req, attribution);
      if (skipReason) context.journal.skipped("click", skipReason);
      if (skipReason || isRepetition(attribution, reference, context.clock.now())) return;

      // Read before the cookies are set: if it throws, the visitor must not count as reported.
      const click = landing.click();
      const sessionId = attribution.sessionId ?? randomUUID();
      const clickId = createClickId(reference, context.clock.now());
      const cookie: CookieOptions = {
        path: "/",
        sameSite: "lax",
        secure: req.secure,
        maxAge: maxAgeMs,
        ...(domain !== undefined && { domain }),
      };
      const { cookieName, signed } = context.config;
      const signedId = (name: string, id: string) => signed?.sign(name, id, maxAgeMs) ?? id;
      res.cookie(cookieName, signedId(cookieName, clickId), cookie);
      const sessionCookie = sessionCookieName(context);
      if (sessionCookie && attribution.cookie(sessionCookie) !== sessionId) {
        res.cookie(sessionCookie, signedId(sessionCookie, sessionId), { ...cookie, httpOnly: true });
      }
      attribution.adopt({ clickId, sessionId });
      void visitor.trackClick(click);
    }

    return function affiliateClick(req, res, next) {
      harmless(
        () => land(req, res),
        (error) => context.journal.warn("onClick", `a click was not read: ${error}`),
      );
      next();
    };
  };
}

function reasonToSkip(req: Request, { consented }: RequestAttribution): SkipReason | undefined {
  if (!consented) return "consent";
  if (isPrefetch(req)) return "prefetch";
  if (isbot(userAgentOf(req))) return "bot";
  return isOpenedByPerson(req) ? undefined : "not-a-page";
}

// Chrome and Safari send Sec-Purpose, others send Purpose, older versions of Firefox send X-Moz.
function isPrefetch(req: Request): boolean {
  return ["sec-purpose", "purpose", "x-moz"].some((name) =>
    /\bpre(fetch|render|view)\b/i.test(req.get(name) ?? ""),
  );
}

// The click id holds the time and the affiliate, so that every process knows a reload for one without a shared store. A
// visitor who forges a click id only keeps their own click from being counted.
function createClickId(reference: string, now: number): string {
  return `${now.toString(36)}-${tagOf(reference)}-${randomBytes(12).toString("hex")}`;
}

function isRepetition({ clickId = "" }: RequestAttribution, reference: string, now: number): boolean {
  const [, createdAt, tag] = /^([0-9a-z]{8,9})-([0-9a-f]{8})-[0-9a-f]{24}$/.exec(clickId) ?? [];
  if (createdAt === undefined || tag !== tagOf(reference)) return false;
  const age = now - Number.parseInt(createdAt, 36);
  return age >= 0 && age < HOUR_MS;
}

function tagOf(reference: string): string {
  return hash("sha256", reference).slice(0, 8);
}

/** The cookie that keeps the session id. `undefined` where the host's own function says what the session id is. */
function sessionCookieName({ config }: RequestContext): string | undefined {
  return typeof config.session === "function" ? undefined : (config.session ?? SESSION_COOKIE);
}
