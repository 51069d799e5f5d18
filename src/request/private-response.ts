import type { Response } from "express";
import onHeaders from "on-headers";

// What caches in front of a host read before Cache-Control, or instead of it.
const FOR_SHARED_CACHES = /(^|-)cdn-cache-control$|^surrogate-control$|^edge-control$|^x-accel-expires$/;

const FOR_SHARED_CACHES_ALONE = /^(public|s-maxage|proxy-revalidate|private|no-store)\b/i;

// A directive's value may be quoted, with commas within: RFC 9111, section 5.2.
const DIRECTIVE = /(?:[^,"]|"(?:[^"\\]|\\.)*")+/g;

/**
 * Keeps the response out of every shared cache, whatever the handler says of it: cookies on a page that a CDN keeps would be
 * handed to all its visitors. Decided as the head is written, when the handler has had its say.
 */
export function keepFromSharedCaches(res: Response): void {
  onHeaders(res, function makePrivate() {
    res.setHeader("Cache-Control", privately(String(res.getHeader("Cache-Control") ?? "")));
    for (const name of res.getHeaderNames()) if (FOR_SHARED_CACHES.test(name)) res.removeHeader(name);
  });
}

/** The same directives, but for those that let a shared cache keep the response. `no-store` forbids all others to, too. */
function privately(cacheControl: string): string {
  const directives = (cacheControl.match(DIRECTIVE) ?? [])
    .map((directive) => directive.trim())
    .filter(Boolean);
  const keeper = directives.some((directive) => /^no-store$/i.test(directive)) ? "no-store" : "private";
  return [keeper, ...directives.filter((directive) => !FOR_SHARED_CACHES_ALONE.test(directive))].join(", ");
}
