import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isReference } from "../../src/conversion/reference.js";
import { anyCharacter, forAny } from "../helpers/for-any.js";

const UNICODE = Array.from({ length: 0x110000 }, (_, code) => String.fromCodePoint(code));

/** Any of the characters of a class. */
function charactersOf(pattern: RegExp) {
  const all = UNICODE.filter((each) => pattern.test(each));
  return fc.nat(all.length - 1).map((nth) => all[nth] as string);
}

describe("an affiliate's reference", () => {
  it.each([
    ["a control", /\p{Cc}/u],
    ["half a character", /\p{Cs}/u],
    ["an unassigned character", /\p{Cn}/u],
    ["a private character", /\p{Co}/u],
    ["a line or paragraph separator", /[\p{Zl}\p{Zp}]/u],
    ["what changes the text's direction", /\p{Bidi_Control}/u],
    ["what cannot be seen", /(?![\u200c\u200d])[\p{Default_Ignorable_Code_Point}\u2800]/u],
    ["the mark of undecodable bytes", /\ufffd/],
  ])("has no %s anywhere", (_, pattern) => {
    forAny(charactersOf(pattern), (character) => {
      expect([character, `A${character}`, `${character}A`, `A${character}B`].filter(isReference)).toEqual([]);
    });
  });

  it("is any text of letters, digits, signs, marks and single spaces, as it came", () => {
    const visible = charactersOf(/[\p{L}\p{N}\p{P}\p{S}]/u).filter(
      (each) => !/[\ufffd\u2800\p{DI}]/u.test(each),
    );
    forAny(
      visible,
      fc.string({ unit: fc.oneof(visible, charactersOf(/(?!\p{DI})\p{M}/u)), maxLength: 127 }),
      visible,
      charactersOf(/\p{Zs}/u),
      (first, more, last, space) => {
        expect(isReference(`${first}${more}`)).toBe(true);
        expect(isReference(`${first}${more}${space}${last}`)).toBe(true);
        for (const text of [`${space}${first}`, `${first}${space}`, `${first}${space}${space}${last}`])
          expect(isReference(text)).toBe(false);
      },
    );
  });

  it.each([
    ["می\u200cخواهم", true],
    ["क्\u200dष", true],
    ["👩\u200d🚀", true],
    ["👍🏽\u200d🚀", true],
    ["\u200cA", false],
    ["A\u200d", false],
    ["A\u200c\u200dB", false],
    ["A \u200cB", false],
    ["1\u200c2", false],
    ["\u0301A", false],
    ["A\u0301", true],
    ["undefined", false],
    ["[object Object]", false],
    ["..", true],
    ["<script>", true],
    ["", false],
    ["🚀".repeat(256), true],
    ["A".repeat(257), false],
    ["🚀".repeat(257), false],
    [42, false],
    [null, false],
  ])("%j: %s", (value, expected) => {
    expect(isReference(value)).toBe(expected);
  });

  it("has at most 1,024 bytes, and costs little to look at, whatever a stranger sends", () => {
    forAny(fc.string({ unit: anyCharacter, maxLength: 600 }), (text) => {
      if (!isReference(text)) return;
      expect(Buffer.byteLength(text)).toBeLessThanOrEqual(1_024);
      expect(text.isWellFormed()).toBe(true);
    });
    expect(isReference("a\u200d".repeat(10_000_000))).toBe(false);
  });
});
