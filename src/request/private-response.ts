import type { Head } from "./response-head.js";

// Caches in front of a host read these before Cache-Control, or instead of it.
const FOR_SHARED_CACHES =
  /(^|-)cdn-cache-control$|^surrogate-control$|^edge-control$|^x-accel-expires$|^x-litespeed-cache-control$/;

const FOR_SHARED_CACHES_ALONE = /^(public|s-maxage|proxy-revalidate|private|no-store)\b/i;

// A directive's value may be quoted, with commas within: RFC 9111, section 5.2.
const DIRECTIVE = /(?:[^,"]|"(?:[^"\\]|\\[\s\S])*(?:"|\\?$))+/g;

const LONGEST_CACHE_CONTROL = 4_096;

/**
 * Keeps the response out of shared caches, even if the handler allows them: a CDN would give a
 * stored page's cookies to all its visitors.
 */
export function keepFromSharedCaches(head: Head): void {
  head.set("Cache-Control", privately(head.get("Cache-Control").join(", ")));
  for (const name of head.names) if (FOR_SHARED_CACHES.test(name)) head.remove(name);
}

/**
 * Makes the visitor's browser ask before it shows this page again. Otherwise a page that an image
 * loaded, or that was opened before consent, could be shown without a request, and be no click.
 */
export function askBeforeEachUse(head: Head): void {
  const [type = "text/html"] = head.get("Content-Type");
  if (!/^text\/html\b/i.test(type)) return;
  const said = head.get("Cache-Control").join(", ");
  if (/\bno-cache$/i.test(said)) return;
  head.set("Cache-Control", said ? `${said}, no-cache` : "no-cache");
}

/** Drops what lets a shared cache keep the response. `no-store` stays: it forbids that too. */
function privately(cacheControl: string): string {
  const directives = (cacheControl.slice(0, LONGEST_CACHE_CONTROL).match(DIRECTIVE) ?? [])
    .map((directive) => directive.trim())
    .filter(Boolean);
  const keeper = directives.some((directive) => /^no-store$/i.test(directive)) ? "no-store" : "private";
  return [keeper, ...directives.filter((directive) => !FOR_SHARED_CACHES_ALONE.test(directive))].join(", ");
}
