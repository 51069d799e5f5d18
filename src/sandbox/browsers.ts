import type { IncomingMessage } from "node:http";
import { isIP } from "node:net";
import { Refused } from "./http.js";

/**
 * Refuses what a page of another site sends from the developer's browser: under its own name that
 * now stands for this machine (DNS rebinding), or across origins. `host`: what this listens on.
 *
 * @throws Refused
 */
export function refuseForeignPages(req: IncomingMessage, host: string, isForBrowsers: boolean): void {
  const { host: named, origin } = req.headers;
  if (named !== undefined && !isOurs(nameIn(named), host)) {
    throw new Refused(
      421,
      "The sandbox is asked for by an address, by localhost, or by the name that --host gives it.",
    );
  }
  if (origin === undefined || isForBrowsers) return;
  if (!URL.canParse(origin) || new URL(origin).host !== named) {
    throw new Refused(403, "This is not for pages of other origins.");
  }
}

/** Names that are not for sale: an address, a name without a dot as Docker's, reserved ends. */
function isOurs(name: string, host: string): boolean {
  return (
    isIP(name) !== 0 ||
    name === host.toLowerCase() ||
    /^[a-z0-9_-]+$/.test(name) ||
    /\.(localhost|internal|test)$/.test(name)
  );
}

function nameIn(host: string): string {
  return host
    .toLowerCase()
    .replace(/:\d*$/, "")
    .replace(/^\[|\]$/g, "");
}
