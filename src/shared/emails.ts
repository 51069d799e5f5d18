/** The most characters of a text that are shown. */
const LONGEST = 16_384;

// Also in full width and small, as some keyboards write it. A run of zeros or of encodings of % is
// bounded, so that each place of the text is read once.
const AT =
  /[@\uff20\ufe6b]|%(?:25){0,16}(?:40|u0040|ef%(?:25){0,16}bc%(?:25){0,16}a0)|&#0{0,16}64;?|&#x0{0,16}40;?|&commat;?|\\u(?:0040|ff20|fe6b)|\\u\{0{0,8}40\}|\\x40/gi;

const DELIMITERS = ' \t\r\n\v\f\u00a0\u2028\u2029\ufeff@<>"():;';

/** The most characters of a quoted local part: RFC 5321 allows 64, and each may be escaped. */
const LONGEST_QUOTED = 130;

/** White space, and what cannot be seen. */
const BLANK = /^[\s\p{Cc}\p{Cf}\p{DI}\u2800]$/u;

/**
 * An address without what is around it: spaces, invisible characters, `mailto:`. `undefined` if it
 * is none: only what no mail system can deliver to, as a stricter pattern would lose conversions.
 */
export function addressIn(text: string): string | undefined {
  const address = trimmed(trimmed(text).replace(/^mailto:/i, ""));
  return /^[^\s@]+@[^\s@]+$/.test(address) ? address : undefined;
}

// Not by a pattern, which would read a row of spaces once for each of them.
function trimmed(text: string): string {
  const isSeen = (character: string) => !BLANK.test(character);
  const characters = Array.from(text);
  const first = characters.findIndex(isSeen);
  return first < 0 ? "" : characters.slice(first, characters.findLastIndex(isSeen) + 1).join("");
}

/** Masks an e-mail address: `alice@shop.example` → `a***@shop.example`. */
export function maskEmail(address: string): string {
  return `${address[0]}***${address.slice(address.lastIndexOf("@"))}`;
}

/**
 * Masks e-mail addresses for log lines and notices: quoted ones too, and those that are
 * percent-encoded (even repeatedly), or encoded as in HTML or JSON. Cuts a text after 16,384
 * characters, before the word that would be cut in half.
 */
export function maskEmails(text: string): string {
  if (text.length > LONGEST) return `${maskEmails(text.slice(0, wordStart(text, LONGEST, 0)))}…`;
  let masked = "";
  let done = 0;
  for (const { 0: sign, index } of text.matchAll(AT)) {
    const start = quotedStart(text, index, done) ?? wordStart(text, index, done);
    if (start < index) masked += `${text.slice(done, start)}${text[start]}***@`;
    else masked += text.slice(done, index + sign.length);
    done = index + sign.length;
  }
  return masked + text.slice(done);
}

/** The start of the word that ends before `end`; `end` if there is no word. */
function wordStart(text: string, end: number, least: number): number {
  let start = end;
  while (start > least && !DELIMITERS.includes(text.charAt(start - 1))) start--;
  return start;
}

/** The start of the quoted local part that ends before `end`. */
function quotedStart(text: string, end: number, least: number): number | undefined {
  if (text[end - 1] !== '"') return undefined;
  for (let start = end - 2; start >= Math.max(least, end - LONGEST_QUOTED); start--) {
    if (text[start] === '"' && !isEscaped(text, start)) return start;
  }
  return undefined;
}

function isEscaped(text: string, at: number): boolean {
  let backslashes = 0;
  while (backslashes < LONGEST_QUOTED && text[at - 1 - backslashes] === "\\") backslashes++;
  return backslashes % 2 === 1;
}
