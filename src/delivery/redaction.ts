import type { OutboxEvent } from "../conversion/events.js";
import { emailOf } from "../conversion/kinds.js";
import { HIDDEN, literally, spellingsOf } from "../shared/secret.js";

/**
 * The service's words without the event's own ids, name and address, and without parts of the two,
 * however they are spelt: other people read dead letters, notices, the dashboard and the log. If
 * one is left in a spelling that cannot be cut out, nothing of the words is.
 */
export function withoutVisitor(text: string, event: OutboxEvent): string {
  const own = ownTextsOf(event);
  if (own.length === 0) return text;
  const shown = text.replace(anyOf(own.map(spellingsOf)), HIDDEN);
  const isLeft = anyOf(own.map((each) => literally(plain(each)))).test(plain(shown));
  return isLeft ? HIDDEN : shown;
}

/** The longest first: one may be part of another. */
function ownTextsOf(event: OutboxEvent): string[] {
  const { clickId, sessionId } = event.data;
  const name = "customerName" in event.data ? event.data.customerName : undefined;
  const email = emailOf(event);
  const mailbox = email?.slice(0, email.lastIndexOf("@")) ?? "";
  const all = [clickId, sessionId, name, email, ...partsOf(name ?? ""), ...partsOf(mailbox), mailbox];
  // Of a name or mailbox, one letter is in many words.
  const isTelling = (each: string | undefined, nth: number) => each && (nth < 4 || each.length > 1);
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
