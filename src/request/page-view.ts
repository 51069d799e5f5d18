import type { Request } from "express";
import { LONGEST_USER_AGENT } from "../conversion/click.js";

/** Cut before it is read, so that a client cannot make it expensive. */
export const LONGEST_HEADER = 512;

/** The first part of the User-Agent: enough to tell browsers apart. */
export function userAgentOf(req: Request): string | undefined {
  return req.get("user-agent")?.slice(0, LONGEST_USER_AGENT);
}

/**
 * Whether a person opens this as a page. Browsers say in Sec-Fetch headers (on https and localhost)
 * what they load. Those without these headers ask for `text/html` by name.
 */
export function isOpenedByPerson({ method, headers }: Request): boolean {
  if (method !== "GET") return false;
  const dest = headers["sec-fetch-dest"];
  const mode = headers["sec-fetch-mode"];
  if (dest !== undefined || mode !== undefined || headers["sec-fetch-site"] !== undefined) {
    // `empty`: a service worker fetches the page. Scripts cannot fetch with the mode `navigate`.
    return (dest === "document" || dest === "empty") && mode === "navigate";
  }
  return (
    Boolean(headers["user-agent"]) &&
    /(^|[\s,])text\/html\b/i.test(headers.accept?.slice(0, LONGEST_HEADER) ?? "")
  );
}

// In turn: Chrome and Safari, other browsers, older Firefox, Facebook's app.
const PURPOSES = ["sec-purpose", "purpose", "x-moz", "x-purpose"];

/** Whether the page is prefetched or prerendered, and not opened yet. */
export function isLoadedAhead({ headers }: Request): boolean {
  // A script may set a purpose, but not `Sec-Purpose`. No browser opens what a script fetches.
  if (headers["sec-fetch-mode"] === "cors" && headers["sec-purpose"] === undefined) return false;
  return PURPOSES.some((name) =>
    /\bpre(fetch|render|view)\b/i.test(String(headers[name]).slice(0, LONGEST_HEADER)),
  );
}
