import { randomUUID } from "node:crypto";
import type { Request, RequestHandler, Response } from "express";
import * as z from "zod/mini";
import { A_REFERENCE } from "../conversion/reference.js";
import type { Journal } from "../journal/journal.js";
import type { SkipReason } from "../journal/notices.js";
import { harmless } from "../shared/harmless.js";
import { shown } from "../shared/printable.js";
import { readOptions, type SchemaOf } from "../shared/read-options.js";
import { createClickId, isClickIdOfOnClick, wasReported } from "./click-id.js";
import { cookiesNamed } from "./cookies.js";
import {
  type CookieSettings,
  checkDomain,
  cookieSettings,
  firstPartyCookie,
  isWithin,
} from "./first-party-cookie.js";
import { handled, seenByOnClick } from "./host-mistakes.js";
import { type Landing, landingOf } from "./landing-page.js";
import { isLoadedAhead, isOpenedByPerson } from "./page-view.js";
import { askBeforeEachUse, changeHead, keepFromSharedCaches, seeHead } from "./response-head.js";
import { affiliateOf, type RequestContext, type Visitor } from "./visitor.js";

/** What `tracker.onClick()` takes. A wrong one throws `OptionsError`. */
export interface OnClickOptions extends CookieSettings {
  /** The query parameter that holds the affiliate's reference. Default `ref`. */
  readonly param?: string | undefined;
  /**
   * Which affiliate earns, if a visitor comes through links of several. `"last"`, the default: each
   * link is a click, and replaces the visitor's ids. `"first"`: a visitor who has a click id of
   * `onClick` keeps both ids, and later links are no clicks.
   */
  readonly attribution?: "last" | "first" | undefined;
}

/** How the session ids that `onClick` makes begin. */
const SESSION_ID_PREFIX = "svc-";

const aParameter = "must be a query parameter's name";

const schema = z.strictObject({
  param: z._default(z.string(aParameter).check(z.minLength(1, aParameter)), "ref"),
  attribution: z._default(z.enum(["last", "first"], 'must be "last" or "first"'), "last"),
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
    const { param, attribution, ...settings } = readOptions("onClick", schema, options);
    const { cookieName, sessionCookie, signed } = config;
    checkDomain("onClick", settings, [cookieName, sessionCookie ?? ""]);
    context.references.expect(param);

    /** @returns whether the request is answered. */
    function handleLanding(req: Request, res: Response): boolean {
      if (!req.originalUrl.includes("?")) return false;
      seenByOnClick(req, context);
      const landing = landingOf(req, param, (values) => hintAtNoReference(param, values, journal));
      if (!landing) return false;
      handled.add(req);
      // For bots and reloads too: a cached response would answer visitors, and count none.
      changeHead(res, keepFromSharedCaches);
      if (req.method !== "GET") return false;

      const visitor = affiliateOf(req, context);
      const skipReason = reasonToSkip(req, visitor);
      if (skipReason) {
        journal.skipped("click", skipReason);
        changeHead(res, askBeforeEachUse);
        return false;
      }
      const { clickId } = visitor;
      // Any other text in the cookie must not keep every affiliate from earning.
      const isKept = attribution === "first" && clickId !== undefined && isClickIdOfOnClick(clickId);
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

    /** A cookie that the option `session` names may be the login's: replaced, it would log people out. */
    function isCookieOfHost(req: Request, name: string): boolean {
      const isNamed = (config.session ?? "svc_session_id") !== "svc_session_id";
      return isNamed && cookiesNamed(req, name).some((value) => !value.startsWith(SESSION_ID_PREFIX));
    }

    function count(visitor: Visitor, landing: Landing, req: Request, res: Response): void {
      // Read before a cookie is set: if it throws, the visitor must not count as reported.
      const click = landing.click();
      const clickId = createClickId(landing.reference, clock.now(), visitor.clickId);
      const setsSession = sessionCookie !== undefined && !isCookieOfHost(req, sessionCookie);
      // New for each click, so that both cookies end together, and nobody can have planted it.
      const sessionId = setsSession ? `${SESSION_ID_PREFIX}${randomUUID()}` : visitor.sessionId;
      const cookies = new Map<string, string>();
      function addCookie(name: string, id: string, httpOnly: boolean): void {
        // A cookie from before `domain` was set would stay, and win: it is older.
        // Outside `domain`, browsers refuse the new one.
        const { domain } = settings;
        if (domain !== undefined && isWithin(req.hostname, domain) && cookiesNamed(req, name).length > 0) {
          const none = { name, value: "", httpOnly };
          cookies.set(`${name} of this host`, firstPartyCookie(req, none, { maxAgeMs: 0 }, journal));
        }
        const value = signed?.sign(name, id, settings.maxAgeMs) ?? id;
        cookies.set(name, firstPartyCookie(req, { name, value, httpOnly }, settings, journal));
      }
      // Scripts, such as the snippet, cannot read a signed id.
      addCookie(cookieName, clickId, signed !== undefined);
      if (setsSession && sessionId !== undefined) addCookie(sessionCookie, sessionId, true);
      visitor.setIds({ clickId, ...(sessionId !== undefined && { sessionId }) });
      visitor.keepAhead(click);
      // A page that does not exist, or fails, is no click.
      changeHead(res, (head) => {
        if (head.status < 400) for (const cookie of cookies) head.setCookie(...cookie);
      });
      seeHead(res, (status) => {
        if (status < 400) visitor.reportAhead();
      });
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

function hintAtNoReference(param: string, values: readonly string[], journal: Journal): void {
  const what = values.length > 1 ? "must have one value" : `must be ${A_REFERENCE}`;
  const got = values.slice(0, 2).map((value) => shown(value));
  journal.hint(
    `no reference ${param}`,
    `a page was opened with \`?${param}=\`, and it is no click: the reference ${what}, got ${got.join(" and ")}`,
  );
}

function reasonToSkip(req: Request, visitor: Visitor): SkipReason | undefined {
  if (!visitor.consented) return "consent";
  if (visitor.isBot) return "bot";
  return isLoadedAhead(req) || isOpenedByPerson(req) ? undefined : "not-a-page";
}
