import type { Request } from "express";
import { isbot } from "isbot";
import type { Config } from "../config.js";
import type { Journal } from "../journal/journal.js";
import { harmless } from "../shared/harmless.js";
import { shown } from "../shared/printable.js";
import { userAgentOf } from "./page-view.js";

/** Whether a bot asks. If the option `isBot` gives no answer, its User-Agent decides. */
export function isBot(
  req: Request,
  { config, journal }: { readonly config: Pick<Config, "isBot">; readonly journal: Journal },
): boolean {
  const { isBot: isBotForHost } = config;
  if (isBotForHost) {
    const warn = (what: string) => journal.warn("isBot", `\`isBot\` ${what}, so the User-Agent decides`);
    const answer: unknown = harmless(
      () => isBotForHost(req),
      (error) => warn(`threw (${error})`),
    );
    if (typeof answer === "boolean") return answer;
    const what = answer instanceof Promise ? "a promise" : shown(answer);
    if (answer !== undefined) warn(`returned ${what}, which is neither true nor false`);
  }
  return isbot(userAgentOf(req));
}
