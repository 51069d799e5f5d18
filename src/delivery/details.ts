import type { OutboxEvent } from "../conversion/events.js";
import { refusalOf } from "../service/answer.js";
import type { Attempt } from "../service/attempt.js";
import { ProxyError } from "../service/proxy-tunnels.js";
import { errorCodeOf } from "../shared/errors.js";
import { withoutVisitor } from "./redaction.js";
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
