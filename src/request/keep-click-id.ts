import { hash } from "node:crypto";
import type { Request, RequestHandler, Response } from "express";
import * as z from "zod/mini";
import { OptionsError } from "../shared/errors.js";
import { harmless } from "../shared/harmless.js";
import { readOptions, type SchemaOf } from "../shared/read-options.js";
import { isBot } from "./bot.js";
import { visitorCookiesAsSent } from "./cookies.js";
import { type CookieSettings, cookieSettings, firstPartyCookie } from "./first-party-cookie.js";
import { isLoadedAhead, isOpenedByPerson } from "./page-view.js";
import { keepFromSharedCaches } from "./private-response.js";
import { affiliateOf, type RequestContext } from "./visitor.js";

// A visitor may send a thousand cookies of one name.
const MOST_IDS = 4;

const schema = z.strictObject(cookieSettings satisfies SchemaOf<CookieSettings>);

/**
 * Middleware for sites with the browser snippet: sets the snippet's cookie again from the server,
 * because browsers cut the life of cookies that scripts set. A second cookie says which click id
 * was set, so that each is set once.
 */
export function createKeepClickId(context: RequestContext) {
  const { config, journal } = context;
  const { cookieName } = config;
  const keptCookie = `${cookieName}_kept`;

  return function keepClickId(options: CookieSettings = {}): RequestHandler {
    const settings = readOptions("keepClickId", schema, options);
    if (config.signed) {
      throw new OptionsError("keepClickId", [
        "it keeps the browser snippet's cookie, which is never signed. Leave out either `keepClickId` or the option `signed`",
      ]);
    }

    function keep(req: Request, res: Response): void {
      const ids = [...new Set(visitorCookiesAsSent(req, cookieName))].slice(0, MOST_IDS);
      if (ids.length === 0 || !isOpenedByPerson(req) || isLoadedAhead(req)) return;
      const kept = visitorCookiesAsSent(req, keptCookie).join(".").split(".");
      // Two come if the snippet sets its cookie for another domain. The one not kept is newer.
      const id = ids.find((each) => !kept.includes(tagOf(each)));
      if (id === undefined || sets(res, cookieName)) return;
      if (!affiliateOf(req, context).consented || isBot(req, context)) return;
      if (ids.length > 1) warnOfTwoDomains();
      const cookie = firstPartyCookie(req, settings, journal);
      keepFromSharedCaches(res);
      // As it was sent: the snippet may not decode what it reads.
      res.cookie(cookieName, id, { ...cookie, encode: String });
      res.cookie(keptCookie, ids.map(tagOf).join("."), { ...cookie, httpOnly: true });
    }

    function warnOfTwoDomains(): void {
      journal.once(
        "warn",
        "two domains",
        `a browser sent two cookies \`${cookieName}\`: the snippet and \`keepClickId\` set it for different domains. Give ` +
          "`keepClickId` the `domain` that the snippet uses",
      );
    }

    return function affiliateKeepClickId(req, res, next) {
      harmless(
        () => keep(req, res),
        (error) => journal.warn("keepClickId", `a click id was not kept: ${error}`),
      );
      next();
    };
  };
}

/** Whether `onClick` or the host has set this cookie already. */
function sets(res: Response, name: string): boolean {
  const cookies = [res.getHeader("Set-Cookie") ?? []].flat();
  return cookies.some((cookie) => String(cookie).startsWith(`${name}=`));
}

function tagOf(id: string): string {
  return hash("sha256", id, "base64url").slice(0, 16);
}
