import type { Response } from "express";
import onHeaders from "on-headers";

// Caches in front of a host read these before Cache-Control, or instead of it.
const FOR_SHARED_CACHES =
  /(^|-)cdn-cache-control$|^surrogate-control$|^edge-control$|^x-accel-expires$|^x-litespeed-cache-control$/;

const FOR_SHARED_CACHES_ALONE = /^(public|s-maxage|proxy-revalidate|private|no-store)\b/i;

// A directive's value may be quoted, with commas within: RFC 9111, section 5.2.
const DIRECTIVE = /(?:[^,"]|"(?:[^"\\]|\\[\s\S])*(?:"|\\?$))+/g;

const LONGEST_CACHE_CONTROL = 4_096;

/**
 * Keeps the response out of shared caches, even if the handler allows them: a CDN would give a
 * stored page's cookies to all its visitors. Runs when the head is written, after the handler has
 * set its headers. Calling it twice changes nothing.
 */
export function keepFromSharedCaches(res: Response): void {
  onHeaders(res, function makePrivate() {
    res.setHeader("Cache-Control", privately(String(res.getHeader("Cache-Control") ?? "")));
    for (const name of res.getHeaderNames()) if (FOR_SHARED_CACHES.test(name)) res.removeHeader(name);
  });
}

/**
 * Makes the visitor's browser ask before it shows this page again. Otherwise a page that an image
 * loaded, or that was opened before consent, could be shown without a request, and be no click.
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

/** Drops what lets a shared cache keep the response. `no-store` stays: it forbids that too. */
function privately(cacheControl: string): string {
  const directives = (cacheControl.slice(0, LONGEST_CACHE_CONTROL).match(DIRECTIVE) ?? [])
    .map((directive) => directive.trim())
    .filter(Boolean);
  const keeper = directives.some((directive) => /^no-store$/i.test(directive)) ? "no-store" : "private";
  return [keeper, ...directives.filter((directive) => !FOR_SHARED_CACHES_ALONE.test(directive))].join(", ");
}
