import { IncomingMessage } from "node:http";

/**
 * Whether Express itself calls a function that makes middleware: `app.use(affiliate)`, `app.get("/", tracker.onClick, …)`. Then the
 * visitor passes, and `tell` says what to write.
 */
export function passesUncalled(args: readonly unknown[], tell: () => void): boolean {
  const [req, , next] = args;
  if (!(req instanceof IncomingMessage) || typeof next !== "function") return false;
  tell();
  next();
  return true;
}

/** What is logged once for each function that was passed without a call. */
export function uncalledLine(name: string, written: string): string {
  return `\`${name}\` was passed to Express without a call, so nothing is reported there: write \`${written}\``;
}
