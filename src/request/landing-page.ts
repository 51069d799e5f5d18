import type { Request } from "express";
import { type Click, LONGEST_URL } from "../conversion/click.js";
import { isReference } from "../conversion/reference.js";
import { LONGEST_HEADER, userAgentOf } from "./page-view.js";

// Cut before it is read, so that a client cannot make it expensive.
const LONGEST_QUERY = 4_096;

const UTM = new Set(["utm_source", "utm_medium", "utm_campaign", "utm_term", "utm_content"]);

export type Landing = NonNullable<ReturnType<typeof landingOf>>;

/**
 * The one reference in the request's address, and the click to report. Calls `onNoReference` with
 * the values of the parameter that are none.
 */
export function landingOf(req: Request, param: string, onNoReference?: (values: readonly string[]) => void) {
  const query = queryOf(req);
  const [reference, ...more] = new Set(query.getAll(param));
  if (reference === undefined) return undefined;
  if (more.length > 0 || !isReference(reference)) {
    onNoReference?.([reference, ...more]);
    return undefined;
  }
  /** Reads the rest of the click. Needs the visitor's consent. */
  const click = (): Click => ({
    affiliateReference: reference,
    clickedUrl: clickedUrl(req, query, param),
    referrerUrl: withoutQuery(req.get("referrer")),
    userAgent: userAgentOf(req),
    source: query.get("utm_source"),
  });
  return { reference, click };
}

/** Not `req.query`: the host chooses its parser, and some parsers are slow for a long query. */
function queryOf({ originalUrl }: Request): URLSearchParams {
  const start = originalUrl.indexOf("?");
  if (start < 0) return new URLSearchParams();
  const query = originalUrl.slice(start + 1, start + 1 + LONGEST_QUERY);
  const isCut = originalUrl.length > start + 1 + LONGEST_QUERY;
  // Without the parameter that was cut in half.
  return new URLSearchParams(isCut ? query.slice(0, Math.max(0, query.lastIndexOf("&"))) : query);
}

/** The page's address with the reference and the five parameters of campaigns. The others are private. */
function clickedUrl(req: Request, query: URLSearchParams, param: string): string | undefined {
  const { protocol, originalUrl } = req;
  // A request of HTTP/1.0 may have no Host.
  const hostname = (req.hostname as string | undefined) ?? "";
  const named = req.get("host") ?? "";
  // Behind a trusted proxy, `hostname` is right. Otherwise both agree, and `Host` has the port.
  const host = named.startsWith(`${hostname}:`) ? named : hostname;
  const [path = ""] = originalUrl.slice(0, LONGEST_URL).split(/[?#]/, 1);
  const base = `${protocol}://${host.slice(0, LONGEST_HEADER)}`;
  // X-Forwarded-Proto of a proxy that passes on what a stranger sent may say `javascript`.
  if (!isWebAddress(base)) return undefined;
  const url = new URL(base);
  // Parsed with the base, a path that begins with two slashes would become another host.
  url.pathname = path;
  url.username = "";
  url.password = "";
  const kept = [...new Set(query.keys())].filter((name) => name === param || UTM.has(name));
  url.search = String(new URLSearchParams(kept.map((name) => [name, query.get(name) ?? ""])));
  if (url.href.length > LONGEST_URL) url.search = "";
  return url.href;
}

function withoutQuery(address: string | undefined): string | undefined {
  const [page = ""] = (address?.slice(0, LONGEST_URL) ?? "").split(/[?#]/, 1);
  if (!isWebAddress(page)) return undefined;
  const { origin, pathname } = new URL(page);
  return `${origin}${pathname}`;
}

function isWebAddress(text: string): boolean {
  return /^https?:/i.test(text) && URL.canParse(text);
}
