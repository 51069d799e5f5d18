/** The most characters of a text that are shown. */
const LONGEST = 16_384;

// Also in full width and small, as some keyboards write it. A run of zeros or of encodings of % is
// bounded, so that each place of the text is read once.
const AT =
  /[@\uff20\ufe6b]|%(?:25){0,16}(?:40|u0040|ef%(?:25){0,16}bc%(?:25){0,16}a0)|&#0{0,16}64;?|&#x0{0,16}40;?|&commat;?|\\u(?:0040|ff20|fe6b)|\\u\{0{0,8}40\}|\\x40/gi;

const DELIMITERS = " \t\r\n\v\f\u00a0\u2028\u2029\ufeff@";

/**
 * An address without white space around it. `undefined` if it is none: only what no mail system can
 * deliver to, as a stricter pattern would lose conversions.
 */
export function addressIn(text: string): string | undefined {
  const address = text.trim();
  return /^[^\s@]+@[^\s@]+$/.test(address) ? address : undefined;
}

/** Masks an e-mail address: `alice@shop.example` → `a***@shop.example`. */
export function maskEmail(address: string): string {
  return `${address[0]}***${address.slice(address.lastIndexOf("@"))}`;
}

/**
 * Masks e-mail addresses for log lines and notices, with what is before them in their word; also
 * those that are percent-encoded (even repeatedly), or encoded as in HTML or JSON. Cuts a text after
 * 16,384 characters, before the word that would be cut in half.
 */
export function maskEmails(text: string): string {
  if (text.length > LONGEST) return `${maskEmails(text.slice(0, wordStart(text, LONGEST, 0)))}…`;
  let masked = "";
  let done = 0;
  for (const { 0: sign, index } of text.matchAll(AT)) {
    const start = wordStart(text, index, done);
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
