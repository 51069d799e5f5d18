import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { amountFrom } from "../../src/shared/money.js";
import { anyCharacter, forAny } from "../helpers/for-any.js";

/** What decimal.js, Prisma, big.js and MongoDB's driver give for a decimal column. */
const decimal = (text: string) => ({ s: 1, e: 1, d: [1], toString: () => text });

describe("an amount", () => {
  it.each([
    [19.9, 19.9],
    ["19.90", 19.9],
    [decimal("19.90"), 19.9],
    ["007", 7],
    [".5", 0.5],
    ["5.", 5],
    ["0.00", 0],
    [-0, 0],
    ["-0.00", 0],
    [1e21, 1e21],
    [59.699999999999996, 59.7],
    [0.1 + 0.2, 0.3],
    ["0.30000000000000004", 0.3],
    [1998.9999999999998, 1999],
    [0.00012345, 0.00012345],
    [1 / 3, 1 / 3],
    [999_999_999_999.99, 999_999_999_999.99],
  ])("reads %o as %d", (given, amount) => {
    expect(amountFrom(given)).toBe(amount);
  });

  it.each([
    ["a negative number", -1, "-1 (number)"],
    ["a negative decimal", "-19.90", '"-19.90" (string)'],
    ["an empty text", "", '"" (string)'],
    ["hexadecimal", "0x13", '"0x13" (string)'],
    ["an exponent", "1e3", '"1e3" (string)'],
    ["a thousands separator", "1,000.00", '"1,000.00" (string)'],
    ["a currency", "19.90 €", '"19.90 \\u20ac" (string)'],
    ["a space", " 1", '" 1" (string)'],
    ["NaN", Number.NaN, "NaN (number)"],
    ["infinity", Number.POSITIVE_INFINITY, "Infinity (number)"],
    ["more digits than a number holds", "9".repeat(400), `"${"9".repeat(40)}..." (string)`],
    ["more characters than any amount has", `0.${"3".repeat(127)}`, `"0.${"3".repeat(38)}..." (string)`],
    ["true", true, "true (boolean)"],
    ["null", null, "null"],
    ["nothing", undefined, "undefined"],
    ["a list", ["19.90"], "an array"],
    ["a decimal that is none", decimal("NaN"), 'an object with the text "NaN" (string)'],
    ["a plain object", {}, 'an object with the text "[object Object]" (string)'],
    ["an object without a text", Object.create(null), "an object"],
    ["a control character", "1\u001b[2J", '"1\\u001b[2J" (string)'],
    ["a bigint, in which gateways give minor units", 1990n, "1990 (bigint): minor units?"],
  ])("refuses %s, and says what arrived", (_, given, shown) => {
    expect(amountFrom(given)).toBe(
      `must be a decimal amount that is not negative, such as 19.9 or "19.90", got ${shown}`,
    );
  });

  it("has no binary noise, however many prices a cart adds up", () => {
    forAny(fc.array(fc.nat(9_999_999), { maxLength: 50 }), (cents) => {
      const sum = cents.reduce((total, each) => total + each / 100, 0);
      expect(amountFrom(sum)).toBe(cents.reduce((total, each) => total + each, 0) / 100);
    });
  });

  it("keeps each decimal of up to 14 digits as it is, as a number and as a database's decimal", () => {
    forAny(fc.nat(99_999_999_999_999), fc.nat(8), (digits, decimals) => {
      const amount = Number(`${digits}e-${decimals}`);
      const text = amount.toFixed(decimals);
      for (const given of [amount, text, decimal(text)]) expect(amountFrom(given)).toBe(amount);
    });
  });

  it("is a number from zero up, or is refused in printable ASCII, whatever is given", () => {
    forAny(fc.oneof(fc.anything(), fc.string({ unit: anyCharacter })), (given) => {
      const amount = amountFrom(given);
      if (typeof amount === "number") expect(amount).toBeGreaterThanOrEqual(0);
      else expect(amount).toMatch(/^[\x20-\x7e]+$/);
    });
  });
});
