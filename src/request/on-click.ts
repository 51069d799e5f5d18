import { randomUUID } from "node:crypto";
import type { Request, RequestHandler, Response } from "express";
import * as z from "zod/mini";
import type { SkipReason } from "../journal/journal.js";
import { harmless } from "../shared/harmless.js";
import { readOptions, type SchemaOf } from "../shared/read-options.js";
import { sessionCookieName } from "./attribution.js";
import { isBot } from "./bot.js";
import { createClickId, wasReported } from "./click-id.js";
import { type CookieSettings, cookieSettings, firstPartyCookie } from "./first-party-cookie.js";
import { type Landing, landingOf } from "./landing-page.js";
import { isLoadedAhead, isOpenedByPerson } from "./page-view.js";
import { askBeforeEachUse, keepFromSharedCaches } from "./private-response.js";
import { warnOfSecondTracker } from "./second-tracker.js";
import { affiliateOf, type RequestContext, type Visitor } from "./visitor.js";

/** What `tracker.onClick()` takes. A wrong one throws `OptionsError`. */
export interface OnClickOptions extends CookieSettings {
  /** The query parameter that holds the affiliate's reference. Default `ref`. */
  readonly param?: string | undefined;
  /**
   * Which affiliate earns, if a visitor comes through links of several. `"last"`, the default: each
   * link is a click, and replaces the visitor's click id. `"first"`: a visitor keeps a click id,
   * and later links are no clicks.
   */
  readonly attribution?: "last" | "first" | undefined;
}

const aParameter = { error: "must be a query parameter's name" };

const schema = z.strictObject({
  param: z._default(z.string(aParameter).check(z.minLength(1, aParameter)), "ref"),
  attribution: z._default(z.enum(["last", "first"], { error: 'must be "last" or "first"' }), "last"),
  ...cookieSettings,
} satisfies SchemaOf<OnClickOptions>);

/**
 * Middleware for landing pages: turns `?ref=CODE` into a click (§4.1) and sets the cookies that
 * later events are attributed by. For sites without the service's browser snippet: both together
 * would count a visit twice.
 */
export function createOnClick(context: RequestContext) {
  const { config, journal, clock } = context;

  return function onClick(options: OnClickOptions = {}): RequestHandler {
    const { param, attribution: which, ...settings } = readOptions("onClick", schema, options);
    context.references.expect(param);

    /** @returns whether the request is answered. */
    function handleLanding(req: Request, res: Response): boolean {
      if (!req.originalUrl.includes("?")) return false;
      warnOfSecondTracker(req, context);
      const landing = landingOf(req, param);
      if (!landing) return false;
      context.references.handled(req);
      // For bots and reloads too: a cached response would answer visitors, and count none.
      keepFromSharedCaches(res);
      if (req.method !== "GET") return false;

      const visitor = affiliateOf(req, context);
      const skipReason = reasonToSkip(req, visitor, context);
      if (skipReason) {
        journal.skipped("click", skipReason);
        askBeforeEachUse(res);
        return false;
      }
      const { clickId } = visitor;
      const isKept = which === "first" && clickId !== undefined;
      if (isKept || wasReported(clickId, landing.reference, clock.now())) return false;
      if (isLoadedAhead(req)) {
        journal.skipped("click", "prefetch");
        // Not kept, so that the browser asks again when the page is opened.
        res.status(503).set("Cache-Control", "no-store").end();
        return true;
      }
      count(visitor, landing, req, res);
      return false;
    }

    function count(visitor: Visitor, landing: Landing, req: Request, res: Response): void {
      // Read before a cookie is set: if it throws, the visitor must not count as reported.
      const click = landing.click();
      const sessionId = visitor.sessionId ?? randomUUID();
      const clickId = createClickId(landing.reference, clock.now(), visitor.clickId);
      const cookie = firstPartyCookie(req, settings, journal);
      const { cookieName, signed } = config;
      const signedId = (name: string, id: string) => signed?.sign(name, id, settings.maxAgeMs) ?? id;
      res.cookie(cookieName, signedId(cookieName, clickId), cookie);
      const sessionCookie = sessionCookieName(config);
      if (sessionCookie && visitor.cookie(sessionCookie) !== sessionId) {
        res.cookie(sessionCookie, signedId(sessionCookie, sessionId), { ...cookie, httpOnly: true });
      }
      visitor.setIds({ clickId, sessionId });
      void visitor.trackClick(click);
    }

    return function affiliateClick(req, res, next) {
      const isAnswered = harmless(
        () => handleLanding(req, res),
        (error) => journal.warn("onClick", `a click was not read: ${error}`),
      );
      if (!isAnswered) next();
    };
  };
}

function reasonToSkip(req: Request, visitor: Visitor, context: RequestContext): SkipReason | undefined {
  if (!visitor.consented) return "consent";
  if (isBot(req, context)) return "bot";
  return isLoadedAhead(req) || isOpenedByPerson(req) ? undefined : "not-a-page";
}
