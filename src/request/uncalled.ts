import { IncomingMessage } from "node:http";

/**
 * Whether Express itself calls a function that makes middleware, as in `app.use(affiliate)`. Then
 * the request passes, and `warn` logs what to write instead.
 */
export function passesUncalled(
  args: readonly unknown[],
  { name, written = `${name}()`, warn }: { name: string; written?: string; warn: (line: string) => void },
): boolean {
  const [req, , next] = args;
  if (!(req instanceof IncomingMessage) || typeof next !== "function") return false;
  warn(
    `\`${name}\` was passed to Express without a call, so nothing is reported there: write \`${written}\``,
  );
  next();
  return true;
}
