import { TEXTS_OF_NOTHING } from "./visitor-ids.js";

/** In code points; so a reference has at most 1,024 bytes. */
const LONGEST = 256;

export const A_REFERENCE = `a text of 1 to ${LONGEST} characters, without invisible ones, and without white space at its ends or doubled`;

// Persian words and some emoji need them within.
const JOINER_WITHIN =
  /(?<=[\p{L}\p{M}\p{Extended_Pictographic}\p{Emoji_Modifier}])[\u200c\u200d](?=[\p{L}\p{Extended_Pictographic}])/gu;

/**
 * Controls, half, unassigned and private characters, line separators; what changes a text's
 * direction or cannot be seen (`DI`, and the blank of Braille); and U+FFFD, which decoders put for
 * bytes that they cannot read: `M%FCLLER` and `M%F6LLER` would become one affiliate.
 */
const REFUSED = /[\p{C}\p{Zl}\p{Zp}\p{DI}\u2800\ufffd]/u;

const LEADING_MARK_OR_SPACES = /^[\s\p{M}]|\s$|\s\s/u;

/** Whether it can be an affiliate's reference: a text that two people would type alike. */
export function isReference(value: unknown): value is string {
  // At most two UTF-16 units a code point. First, so that a long text costs nothing.
  if (typeof value !== "string" || value === "" || value.length > 2 * LONGEST) return false;
  if (Array.from(value).length > LONGEST || TEXTS_OF_NOTHING.includes(value)) return false;
  return !LEADING_MARK_OR_SPACES.test(value) && !REFUSED.test(value.replace(JOINER_WITHIN, ""));
}
