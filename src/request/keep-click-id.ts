import type { Request, RequestHandler, Response } from "express";
import * as z from "zod/mini";
import { OptionsError } from "../shared/errors.js";
import { harmless } from "../shared/harmless.js";
import { readOptions, type SchemaOf } from "../shared/read-options.js";
import { clickIdsIn, keptCookieOf, keptTagOf } from "./cookies.js";
import { type CookieSettings, checkDomain, cookieSettings, firstPartyCookie } from "./first-party-cookie.js";
import { isLoadedAhead, isOpenedByPerson } from "./page-view.js";
import { changeHead, keepFromSharedCaches } from "./response-head.js";
import { affiliateOf, type RequestContext } from "./visitor.js";

const schema = z.strictObject(cookieSettings satisfies SchemaOf<CookieSettings>);

/**
 * Middleware for sites with the browser snippet: sets the snippet's cookie again from the server,
 * because browsers cut the life of cookies that scripts set. A second cookie says which click id
 * was set, so that each is set once.
 */
export function createKeepClickId(context: RequestContext) {
  const { config, journal } = context;
  const { cookieName } = config;
  const keptCookie = keptCookieOf(cookieName);

  return function keepClickId(options: CookieSettings = {}): RequestHandler {
    const settings = readOptions("keepClickId", schema, options);
    const option = config.signed ? "signed" : config.cookiePrefix && "cookiePrefix";
    if (option) {
      throw new OptionsError("keepClickId", [
        `it keeps the browser snippet's cookie, which has neither signature nor prefix. Leave out either \`keepClickId\` or the option \`${option}\``,
      ]);
    }
    checkDomain("keepClickId", settings, [cookieName]);

    function keep(req: Request, res: Response): void {
      const { ids, kept } = clickIdsIn(req, cookieName);
      const [id] = ids;
      if (id === undefined || !isOpenedByPerson(req) || isLoadedAhead(req)) return;
      // Two come if the snippet sets its cookie for another domain, or a subdomain sets one.
      if (kept !== undefined && ids.length > 1) {
        journal.once(
          "two domains",
          `a browser sent two cookies \`${cookieName}\`, and the one that \`keepClickId\` has set counts. If the snippet sets its own for ` +
            "another domain, give `keepClickId` that `domain`: later clicks do not count until then",
        );
      }
      if (kept !== undefined) return;
      const visitor = affiliateOf(req, context);
      if (!visitor.consented || visitor.isBot) return;
      // As it was sent: the snippet may not decode what it reads.
      const again = { name: cookieName, value: id, httpOnly: false };
      const mark = { name: keptCookie, value: keptTagOf(id), httpOnly: true };
      const lines = [again, mark].map(
        (cookie) => [cookie.name, firstPartyCookie(req, cookie, settings, journal)] as const,
      );
      changeHead(res, (head) => {
        // `onClick` or the host may set another.
        if (head.setsCookie(cookieName)) return;
        keepFromSharedCaches(head);
        for (const line of lines) head.setCookie(...line);
      });
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
