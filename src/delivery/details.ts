import type { OutboxEvent } from "../conversion/events.js";
import { emailOf } from "../conversion/kinds.js";
import { refusalOf } from "../service/answers.js";
import type { Attempt } from "../service/attempt.js";
import { errorCodeOf } from "../shared/errors.js";
import { HIDDEN, spellingsOf } from "../shared/secret.js";

/** What the service or Node said of an attempt, for listeners and dead letters. */
export interface Details {
  readonly status?: number;
  readonly code: string;
  readonly message: string;
}

/** What to do about codes of Node and OpenSSL whose messages do not say it. */
const ADVICE: readonly [codes: RegExp, advice: string][] = [
  [
    /^(DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_\w+)$/,
    "this machine does not know the authority that signed the service's certificate: name it by NODE_EXTRA_CA_CERTS",
  ],
  [
    /^(ERR_SSL_\w+|EPROTO)$/,
    "there is no TLS in common: the service speaks a version that is too old, or no TLS at this port",
  ],
];

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
  const advice = ADVICE.find(([codes]) => codes.test(code))?.[1];
  return { code, message: advice ? `${said}: ${advice}` : said };
}

/** Removes the event's ids, name and address from the service's words, in every spelling. */
function withoutVisitor(text: string, event: OutboxEvent): string {
  const { clickId, sessionId } = event.data;
  const name = "customerName" in event.data ? event.data.customerName : undefined;
  const texts = [clickId, sessionId, name, emailOf(event)].filter((value) => value !== undefined);
  if (texts.length === 0) return text;
  // The longest first: one may be part of another.
  const longestFirst = texts.sort((one, other) => other.length - one.length);
  // Whole words: a short id is in many words.
  const spelt = `(?<![A-Za-z0-9])(?:${longestFirst.map(spellingsOf).join("|")})(?![A-Za-z0-9])`;
  return text.replace(new RegExp(spelt, "gi"), HIDDEN);
}
