import { AffiliateError } from "express-affiliate";
import { majorUnits, metadata, paypal } from "express-affiliate/gateways";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { forAny } from "../helpers/for-any.js";

describe("majorUnits", () => {
  it.each([
    [1_990, "EUR", undefined, 19.9],
    ["1990", "eur", undefined, 19.9],
    [1_990n, "EUR", undefined, 19.9],
    [0, "EUR", undefined, 0],
    [1_990, "JPY", undefined, 1_990],
    [1_990, "KWD", undefined, 1.99],
    [1_990, "HUF", undefined, 19.9],
    [1_990, "UGX", undefined, 1_990],
    [1_990, "UGX", "stripe", 19.9],
    [1_990, "MGA", "stripe", 1_990],
    [1_990, "CLP", "adyen", 19.9],
    [1_990, "IDR", "adyen", 1_990],
    [1_990, "CLP", "razorpay", 1_990],
  ] as const)("of %s %s by %s are %s", (amount, currency, gateway, major) => {
    expect(majorUnits(amount, currency, gateway)).toBe(major);
  });

  it("divides by 100 what gateways count in hundredths, if Intl has no decimals", () => {
    for (const currency of ["COP", "HUF", "IDR", "PKR", "IRR", "LAK"]) {
      const options = { style: "currency", currency } as const;
      expect(new Intl.NumberFormat("en", options).resolvedOptions().maximumFractionDigits).toBe(0);
      expect(majorUnits(199_000, currency)).toBe(1_990);
    }
  });

  it.each([
    [1, "XYZ", '`currency` must be one of ISO 4217, got "XYZ" (string)'],
    [1, "ada@shop.example", "`currency` must be one of ISO 4217, got another text"],
    [1, "constructor", '`currency` must be one of ISO 4217, got "constructor" (string)'],
    [1, undefined, "`currency` must be one of ISO 4217, got undefined"],
    [19.9, "EUR", "minor units, such as 1990, got 19.9 (number)"],
    ["19.90", "EUR", 'minor units, such as 1990, got "19.90" (string)'],
    [-1, "EUR", "minor units, such as 1990, got -1 (number)"],
    [-1n, "EUR", "minor units, such as 1990, got -1 (bigint)"],
    ["", "EUR", 'minor units, such as 1990, got "" (string)'],
    [Number.NaN, "EUR", "minor units, such as 1990, got NaN (number)"],
    [null, "EUR", "minor units, such as 1990, got null"],
    [[1], "EUR", "minor units, such as 1990, got an array"],
    [10n ** 400n, "EUR", "minor units, such as 1990, got 1000"],
  ])("of %s %s are an error", (amount, currency, message) => {
    const convert = () => majorUnits(amount as number, currency as string);
    expect(convert).toThrow(AffiliateError);
    expect(convert).toThrow(message);
  });

  it("refuse a currency that is no text, and that no text can be made of", () => {
    for (const currency of [{ toString: false }, Object.create(null), Symbol("EUR"), undefined])
      expect(() => majorUnits(1990, currency as string)).toThrow(/ISO 4217/);
  });

  it("are a number from zero up, or an error of ours, whatever is given", () => {
    forAny(fc.anything(), fc.oneof(fc.constant("EUR"), fc.anything()), (amount, currency) => {
      try {
        expect(majorUnits(amount as number, currency as string)).toBeGreaterThanOrEqual(0);
      } catch (error) {
        expect(error).toMatchObject({ code: "ERR_AFFILIATE_GATEWAY" });
      }
    });
  });
});

describe("metadata", () => {
  const snapshot = { clickId: "c1", sessionId: "s1" };

  it("is one key, with the snapshot's JSON; none without ids", () => {
    expect(metadata(snapshot)).toEqual({ affiliate: '{"clickId":"c1","sessionId":"s1"}' });
    expect(metadata({ clickId: null, sessionId: "s1" })).toEqual({ affiliate: '{"sessionId":"s1"}' });
    for (const nobody of [{}, null, undefined, { clickId: null, sessionId: null }])
      expect(metadata(nobody)).toEqual({});
  });

  it("fits into the 127 characters of a PayPal subscription's `custom_id`, with the longest ids of `onClick`", () => {
    const ids = { clickId: "c".repeat(60), sessionId: `svc-${"s".repeat(36)}` };
    const custom = metadata(ids, "paypal").affiliate as string;
    expect(custom.length).toBeLessThanOrEqual(127);
    const resource = { id: "S1", amount: { total: "1.00", currency: "EUR" }, custom };
    expect(paypal({ event_type: "PAYMENT.SALE.COMPLETED", resource })).toMatchObject({ attribution: ids });
  });

  it.each([
    ["stripe", 500],
    ["paypal", 255],
    ["braintree", 255],
    ["mollie", 1_000],
    ["razorpay", 256],
    ["adyen", 80],
  ] as const)("has as many characters as %s takes, %s, or is an error", (gateway, longest) => {
    const rest = (metadata({ sessionId: "s" }, gateway).affiliate as string).length - 1;
    const sessionId = "s".repeat(longest - rest);
    expect(metadata({ sessionId }, gateway).affiliate).toHaveLength(longest);
    expect(() => metadata({ sessionId: `${sessionId}s` }, gateway)).toThrow(
      `affiliate: ${gateway}: metadata: \`affiliate\` must have at most ${longest} characters, got ${longest + 1}`,
    );
  });
});
