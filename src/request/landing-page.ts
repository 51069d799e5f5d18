import type { Request } from "express";
import { type Click, LONGEST_URL } from "../conversion/click.js";
import { isVisitorId } from "../conversion/visitor-ids.js";
import { userAgentOf } from "./page-view.js";

// Cut before they are read, so that a client cannot make them expensive.
const LONGEST_QUERY = 4_096;
const LONGEST_HEADER = 512;

export interface Landing {
  readonly reference: string;
  /** Reads the rest of the click. Needs the visitor's consent. */
  click(): Click;
}

/** The one reference in the request's address, and the click to report. */
export function landingOf(req: Request, param: string): Landing | undefined {
  const query = queryOf(req);
  const [reference, ...more] = query.getAll(param);
  if (more.length > 0 || !isVisitorId(reference)) return undefined;
  const click = () => ({
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

/** The page's address with the reference and `utm_` parameters. The others are private. */
function clickedUrl(req: Request, query: URLSearchParams, param: string): string | undefined {
  const { protocol, originalUrl } = req;
  // A request of HTTP/1.0 may have no Host.
  const hostname = (req.hostname as string | undefined) ?? "";
  const named = req.get("host") ?? "";
  // Behind a trusted proxy, `hostname` is right. Otherwise both agree, and `Host` has the port.
  const host = named.startsWith(hostname) ? named : hostname;
  const [path = ""] = originalUrl.slice(0, LONGEST_URL).split(/[?#]/, 1);
  const base = `${protocol}://${host.slice(0, LONGEST_HEADER)}`;
  // X-Forwarded-Proto of a proxy that passes on what a stranger sent may say `javascript`.
  if (!isWebAddress(base)) return undefined;
  const url = new URL(base);
  // Parsed with the base, a path that begins with two slashes would become another host.
  url.pathname = path;
  url.username = "";
  url.password = "";
  const kept = [...query].filter(([name]) => name === param || name.startsWith("utm_"));
  url.search = String(new URLSearchParams(kept));
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
