import type { OutboxEvent } from "../conversion/events.js";
import { emailOf } from "../conversion/kinds.js";
import { refusalOf } from "../service/answer.js";
import type { Attempt } from "../service/attempt.js";
import { ProxyError } from "../service/proxy-tunnels.js";
import { errorCodeOf } from "../shared/errors.js";
import { HIDDEN, spellingsOf } from "../shared/secret.js";
import { tlsAdvice } from "./tls-advice.js";

/** What the service or Node said of an attempt, for listeners and dead letters. */
export interface Details {
  readonly status?: number;
  readonly code: string;
  readonly message: string;
}

/** Shows no secret and no visitor. Without an `event`, only the status endpoint was asked. */
export function detailsOf(
  attempt: Attempt,
  event: OutboxEvent | undefined,
  { hide, now }: { hide: (text: string) => string; now: number },
): Details {
  if (attempt.type === "answer") {
    const hideAll = (text: string) => (event ? withoutVisitor(hide(text), event) : hide(text));
    const { status, error, message } = refusalOf(attempt, { now, hide: hideAll });
    return { status, code: error, message };
  }
  const { error } = attempt;
  const code = errorCodeOf(error);
  const said = hide(error.message || code);
  const cause = error instanceof ProxyError ? error.cause : undefined;
  const advice = cause instanceof Error ? tlsAdvice(errorCodeOf(cause), "proxy") : tlsAdvice(code);
  return { code, message: advice ? `${said}: ${advice}` : said };
}

/**
 * The service's words without the event's own ids, name and address, however they are spelt: other
 * people read dead letters, notices, the dashboard and the log.
 */
export function withoutVisitor(text: string, event: OutboxEvent): string {
  const { clickId, sessionId } = event.data;
  const name = "customerName" in event.data ? event.data.customerName : undefined;
  const own = [clickId, sessionId, name, emailOf(event)].filter(
    (each) => each !== undefined && each !== "",
  ) as string[];
  if (own.length === 0) return text;
  // The longest first: one may be part of another. Whole words: a short id is in many words.
  const longestFirst = own.sort((one, other) => other.length - one.length);
  const any = longestFirst.map(spellingsOf).join("|");
  return text.replace(new RegExp(`(?<![A-Za-z0-9])(?:${any})(?![A-Za-z0-9])`, "gi"), HIDDEN);
}
