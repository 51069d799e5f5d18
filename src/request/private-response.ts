import type { Response } from "express";
import onHeaders from "on-headers";

// Headers that caches in front of a host read before Cache-Control, or instead of it.
const FOR_SHARED_CACHES =
  /(^|-)cdn-cache-control$|^surrogate-control$|^edge-control$|^x-accel-expires$|^x-litespeed-cache-control$/;

const FOR_SHARED_CACHES_ALONE = /^(public|s-maxage|proxy-revalidate|private|no-store)\b/i;

// A directive's value may be quoted, with commas within: RFC 9111, section 5.2.
const DIRECTIVE = /(?:[^,"]|"(?:[^"\\]|\\[\s\S])*(?:"|\\?$))+/g;

/** The most characters of a `Cache-Control` that are read. */
const LONGEST_CACHE_CONTROL = 4_096;

/**
 * Keeps the response out of all shared caches, even if the handler allows them: a CDN would give the cookies of a stored page to
 * all its visitors. Runs when the head is written, after the handler has set its headers. Calling it twice changes nothing.
 */
export function keepFromSharedCaches(res: Response): void {
  onHeaders(res, function makePrivate() {
    res.setHeader("Cache-Control", privately(String(res.getHeader("Cache-Control") ?? "")));
    for (const name of res.getHeaderNames()) if (FOR_SHARED_CACHES.test(name)) res.removeHeader(name);
  });
}

/**
 * Lets the visitor's own browser keep this page only if it asks before it shows the page again. Otherwise a page that an image
 * loaded, or that was opened before consent, would be shown later without a request, and would be no click.
 */
export function askBeforeEachUse(res: Response): void {
  onHeaders(res, function makeAsk() {
    const type = String(res.getHeader("Content-Type") ?? "text/html");
    if (!/^text\/html\b/i.test(type)) return;
    const said = [res.getHeader("Cache-Control") ?? []].flat().join(", ");
    if (/\bno-cache$/i.test(said)) return;
    res.setHeader("Cache-Control", said ? `${said}, no-cache` : "no-cache");
  });
}

/** The same directives, without those that let a shared cache keep the response. `no-store` is kept: it forbids that too. */
function privately(cacheControl: string): string {
  const directives = (cacheControl.slice(0, LONGEST_CACHE_CONTROL).match(DIRECTIVE) ?? [])
    .map((directive) => directive.trim())
    .filter(Boolean);
  const keeper = directives.some((directive) => /^no-store$/i.test(directive)) ? "no-store" : "private";
  return [keeper, ...directives.filter((directive) => !FOR_SHARED_CACHES_ALONE.test(directive))].join(", ");
}
