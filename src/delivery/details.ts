import type { OutboxEvent } from "../conversion/events.js";
import { emailOf } from "../conversion/kinds.js";
import { refusalOf } from "../service/answers.js";
import type { Attempt } from "../service/attempt.js";
import { errorCodeOf } from "../shared/errors.js";
import { HIDDEN, literally, spellingsOf } from "../shared/secret.js";

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
  const advice = tlsAdvice(code);
  return { code, message: advice ? `${said}: ${advice}` : said };
}

// OpenSSL's names for what is wrong with a certificate or a handshake, as Node passes them on.
const ADVICE: readonly [codes: RegExp, advice: string][] = [
  [/^CERT_HAS_EXPIRED$/, "the service's certificate has expired, and the service has to renew it"],
  [/^CERT_NOT_YET_VALID$/, "the service's certificate is not valid yet: check the clocks of both machines"],
  [
    /^(ERR_TLS_CERT_ALTNAME_\w+|HOSTNAME_MISMATCH)$/,
    "the service's certificate is for another name: `baseUrl` must have the name that the certificate is for",
  ],
  [
    /^(DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_\w+|INVALID_CA|CERT_UNTRUSTED)$/,
    "this machine does not know the authority that signed the service's certificate: name it by NODE_EXTRA_CA_CERTS",
  ],
  [/^CERT_/, "the service's certificate cannot be trusted"],
  [
    /^(ERR_SSL_\w+|EPROTO)$/,
    "there is no TLS in common: the service speaks a version that is too old, or no TLS at this port",
  ],
];

/** What to do about a connection that failed with this code; `undefined` if TLS did not fail. */
export function tlsAdvice(code: string): string | undefined {
  return ADVICE.find(([codes]) => codes.test(code))?.[1];
}

/**
 * Removes the event's ids, name and address, and parts of the last two, from the service's words,
 * in every spelling: more people read dead letters, notices, the dashboard and the log. If one
 * cannot be cut out, hides the whole text.
 */
export function withoutVisitor(text: string, event: OutboxEvent): string {
  const texts = visitorTextsOf(event);
  if (texts.length === 0) return text;
  const shown = text.replace(anyOf(texts.map(spellingsOf)), HIDDEN);
  const isLeft = anyOf(texts.map((part) => literally(plain(part)))).test(plain(shown));
  return isLeft ? HIDDEN : shown;
}

/** The longest first: one may be part of another. */
function visitorTextsOf(event: OutboxEvent): string[] {
  const { clickId, sessionId } = event.data;
  const name = "customerName" in event.data ? event.data.customerName : undefined;
  const email = emailOf(event);
  const mailbox = email?.slice(0, email.lastIndexOf("@")) ?? "";
  const all = [clickId, sessionId, name, email, ...partsOf(name ?? ""), ...partsOf(mailbox), mailbox];
  // Of a name or mailbox, one letter is in many words.
  const isTelling = (part: string | undefined, nth: number) => part && (nth < 4 || part.length > 1);
  return (all.filter(isTelling) as string[]).sort((one, other) => other.length - one.length);
}

// Scripts that put no space between a family's and a person's own name.
const WITHOUT_SPACES = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}\p{sc=Thai}]{2}/u;

function partsOf(name: string): string[] {
  return name.split(/[^\p{L}\p{M}\p{N}]+/u).flatMap((word) => {
    if (!WITHOUT_SPACES.test(word)) return [word];
    const letters = Array.from(word);
    return [word, ...letters.slice(1).map((letter, nth) => `${letters[nth]}${letter}`)];
  });
}

/** Whole words: a short id is in many words. */
function anyOf(patterns: readonly string[]): RegExp {
  return new RegExp(`(?<![A-Za-z0-9])(?:${patterns.join("|")})(?![A-Za-z0-9])`, "gi");
}

const ESCAPED =
  /%u([0-9a-f]{4})|\\u([0-9a-f]{4})|\\u\{([0-9a-f]{1,6})\}|\\x([0-9a-f]{2})|&#x([0-9a-f]{1,6});?/gi;

/** The letters behind escapes, even repeated ones, without accents and invisible characters. */
function plain(text: string): string {
  let decoded = text;
  for (let round = 0; round < 4; round++) {
    const before = decoded;
    decoded = before
      .replace(ESCAPED, (_, ...hex: unknown[]) => characterOf(Number.parseInt(String(hex.find(Boolean)), 16)))
      .replace(/&#(\d{1,7});?/g, (_, code: string) => characterOf(Number(code)))
      .replace(/&commat;?/gi, "@")
      // Of addresses and of mails.
      .replace(/(?:[%=][0-9a-f]{2})+/gi, (bytes) => textOf(Buffer.from(bytes.replace(/[%=]/g, ""), "hex")));
    if (decoded === before) break;
  }
  return decoded.normalize("NFKD").replace(/[\p{M}\p{DI}\p{Cc}]/gu, "");
}

function characterOf(code: number): string {
  return code <= 0x10ffff ? String.fromCodePoint(code) : "";
}

/** In UTF-8, or in Latin-1 as older systems write. */
function textOf(bytes: Buffer): string {
  const text = bytes.toString();
  return text.includes("\ufffd") ? bytes.toString("latin1") : text;
}
