import type { Request } from "express";
import { type Click, isVisitorId } from "../events.js";

// Of what a stranger sends, this much is looked at: a longer query or header costs no more than this.
const LONGEST_QUERY = 4_096;
const LONGEST_ADDRESS = 2_048;
const LONGEST_HEADER = 512;

/** What a request to a landing page says of an affiliate. */
export interface Landing {
  readonly reference: string;
  /** Reads the rest: for when it is known that the visitor has agreed. */
  click(): Click;
}

/** The affiliate's reference in a page's address, and the click that it makes where a person opens the page. */
export function landingOf(req: Request, param: string): Landing | undefined {
  if (req.method !== "GET") return undefined;
  const query = queryOf(req);
  const [reference, ...more] = query.getAll(param);
  if (more.length > 0 || !isVisitorId(reference)) return undefined;
  const click = () => ({
    affiliateReference: reference,
    clickedUrl: clickedUrl(req, query, param),
    referrerUrl: withoutQuery(req.get("referrer")),
    userAgent: userAgentOf(req),
    source: query.get("utm_source")?.slice(0, 256),
  });
  return { reference, click };
}

/** As much of the User-Agent as tells browsers apart. */
export function userAgentOf(req: Request): string | undefined {
  return req.get("user-agent")?.slice(0, LONGEST_HEADER);
}

/**
 * Whether a person opens this as a page of its own. Browsers say so in Sec-Fetch headers, on https and on this machine, and
 * say of images, iframes, scripts and fetches what they are. A browser that does not asks for `text/html` by name.
 */
export function isOpenedByPerson({ headers }: Request): boolean {
  const dest = headers["sec-fetch-dest"];
  const mode = headers["sec-fetch-mode"];
  if (dest !== undefined || mode !== undefined || headers["sec-fetch-site"] !== undefined) {
    return dest === "document" && mode === "navigate";
  }
  return (
    Boolean(headers["user-agent"]) &&
    /(^|[\s,])text\/html\b/i.test(headers.accept?.slice(0, LONGEST_HEADER) ?? "")
  );
}

/** Not `req.query`: how that is parsed is the host's choice, and some ways are slow for a long query. */
function queryOf({ originalUrl }: Request): URLSearchParams {
  const start = originalUrl.indexOf("?");
  if (start < 0) return new URLSearchParams();
  const query = originalUrl.slice(start + 1, start + 1 + LONGEST_QUERY);
  const isCut = originalUrl.length > start + 1 + LONGEST_QUERY;
  // Not half of a parameter.
  return new URLSearchParams(isCut ? query.slice(0, Math.max(0, query.lastIndexOf("&"))) : query);
}

/** The landing page's address with the reference and the campaign's parameters: the rest is between visitor and host. */
function clickedUrl(req: Request, query: URLSearchParams, param: string): string | undefined {
  const { protocol, hostname, originalUrl } = req;
  const named = req.get("host") ?? "";
  // Behind a trusted proxy the two differ, and the proxy knows better; else `host` has the port as well.
  const host = named.startsWith(hostname) ? named : hostname;
  const [path = ""] = originalUrl.slice(0, LONGEST_ADDRESS).split(/[?#]/, 1);
  const base = `${protocol}://${host.slice(0, LONGEST_HEADER)}`;
  if (!URL.canParse(base)) return undefined;
  const url = new URL(base);
  // Not parsed with it: a path that begins with two slashes would be another host.
  url.pathname = path;
  url.username = "";
  url.password = "";
  const kept = [...query].filter(([name]) => name === param || name.startsWith("utm_"));
  url.search = String(new URLSearchParams(kept));
  return url.href.slice(0, LONGEST_ADDRESS);
}

function withoutQuery(address: string | undefined): string | undefined {
  const [page = ""] = (address?.slice(0, LONGEST_ADDRESS) ?? "").split(/[?#]/, 1);
  if (!URL.canParse(page)) return undefined;
  const { protocol, origin, pathname } = new URL(page);
  return protocol === "https:" || protocol === "http:"
    ? `${origin}${pathname}`.slice(0, LONGEST_ADDRESS)
    : undefined;
}
