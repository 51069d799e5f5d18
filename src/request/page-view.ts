import type { Request } from "express";
import { rowOf } from "../kinds.js";

// Cut before it is read, so that a client cannot make it expensive.
const LONGEST_HEADER = 512;

/** The first part of the User-Agent: enough to tell browsers apart. */
export function userAgentOf(req: Request): string | undefined {
  return req.get("user-agent")?.slice(0, rowOf("click").longest.userAgent);
}

/**
 * Whether a person opens this as a page. Browsers say in Sec-Fetch headers (on https and on localhost) whether they load a page,
 * an image, an iframe or a script. A browser without these headers asks for `text/html` by name.
 */
export function isOpenedByPerson({ method, headers }: Request): boolean {
  if (method !== "GET") return false;
  const dest = headers["sec-fetch-dest"];
  const mode = headers["sec-fetch-mode"];
  if (dest !== undefined || mode !== undefined || headers["sec-fetch-site"] !== undefined) {
    // `empty`: a service worker fetches the page that is opened. Scripts cannot fetch with the mode `navigate`.
    return (dest === "document" || dest === "empty") && mode === "navigate";
  }
  return (
    Boolean(headers["user-agent"]) &&
    /(^|[\s,])text\/html\b/i.test(headers.accept?.slice(0, LONGEST_HEADER) ?? "")
  );
}

// Chrome and Safari send Sec-Purpose, others Purpose, older versions of Firefox X-Moz, Facebook's app X-Purpose.
const PURPOSES = ["sec-purpose", "purpose", "x-moz", "x-purpose"];

/** Whether the page is prefetched or prerendered, for a person who has not opened it yet. */
export function isLoadedAhead({ headers }: Request): boolean {
  return PURPOSES.some((name) => {
    const purpose = headers[name];
    return (
      purpose !== undefined && /\bpre(fetch|render|view)\b/i.test(String(purpose).slice(0, LONGEST_HEADER))
    );
  });
}
