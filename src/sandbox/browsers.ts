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
  const { host: named, origin, "sec-fetch-site": site, "sec-fetch-dest": destination } = req.headers;
  if (named !== undefined && !isOurs(nameIn(named), host)) {
    throw new Refused(
      421,
      "The sandbox is asked for by an address, by localhost, or by the name that --host gives it.",
    );
  }
  if (isForBrowsers) return;
  // An image or a script is asked for without an origin. A link to the inspector is a document.
  const isForeign = origin
    ? !URL.canParse(origin) || new URL(origin).host !== named
    : /^(cross|same)-site$/.test(String(site)) && destination !== "document";
  if (isForeign) throw new Refused(403, "This is not for pages of other origins.");
}

/** Names that are not for sale: an address, a name without a dot as Docker's, reserved ends. */
function isOurs(name: string, host: string): boolean {
  return (
    isIP(name) !== 0 ||
    (isHostName(name) && (name === host.toLowerCase() || /^[^.]+$|\.(localhost|internal|test)$/.test(name)))
  );
}

/** Labels between dots. The last is no number: browsers read such a name as an address. */
export function isHostName(text: string): boolean {
  const labels = text.toLowerCase().split(".");
  const isNumber = /^(\d+|0x[\da-f]*)$/.test(labels.at(-1) ?? "");
  return text.length <= 253 && !isNumber && labels.every((label) => LABEL.test(label));
}

const LABEL = /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/;

function nameIn(host: string): string {
  return host
    .toLowerCase()
    .replace(/:\d*$/, "")
    .replace(/^\[|\]$/g, "");
}
