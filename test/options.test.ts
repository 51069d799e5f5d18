import { type AffiliateOptions, affiliate, memoryOutbox, OptionsError } from "express-affiliate";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { forAny } from "./helpers/for-any.js";

const right = { baseUrl: "https://tracking.example", clientId: 42 };

function refusal(options: unknown): OptionsError {
  try {
    affiliate(options as AffiliateOptions);
  } catch (error) {
    expect(error).toBeInstanceOf(OptionsError);
    return error as OptionsError;
  }
  throw new Error("the options were taken");
}

/** Options in which this path has this value. */
const at = (path: string, value: unknown) =>
  path.split(".").reduceRight<unknown>((inner, name) => ({ [name]: inner }), value) as object;

describe("options", () => {
  it("lists everything that is wrong in one message", () => {
    const delivery = { concurency: 3, timeoutMs: 0, connectTimeoutMs: 2 ** 31 };
    const { message, code } = refusal({ clientId: "10010", cookieNme: "x", delivery });
    expect(code).toBe("ERR_AFFILIATE_OPTIONS");
    expect(message.split("\n")).toEqual([
      "affiliate:",
      "  - `baseUrl` is required: it must be the service's address, such as https://tracking.example",
      '  - `clientId` must be a positive integer, got "10010" (string)',
      "  - `delivery.connectTimeoutMs` must be at most 2147483647, got 2147483648 (number)",
      "  - `delivery.timeoutMs` must be a positive number of milliseconds, got 0 (number)",
      "  - `delivery.concurency` is not an option; did you mean `concurrency`?",
      "  - `cookieNme` is not an option; did you mean `cookieName`?",
      "(docs/errors.md#err_affiliate_options)",
    ]);
  });

  it("finds a wrong address beside what else is wrong, and names the options there are if no name is near", () => {
    const { message } = refusal({ baseUrl: "http://tracking.example", clientId: "42", xyzzy: 1 });
    expect(message).toMatch(/`baseUrl` must begin with https:(.|\n)*`clientId` must be/);
    expect(message).toMatch(/`xyzzy` is not an option; there are `baseUrl`, `clientId`, /);
  });

  it.each([undefined, null, 42, "https://tracking.example", []])(
    "refuses %o instead of options",
    (options) => {
      expect(refusal(options).message).toMatch(/^affiliate: options must be an object \(/);
    },
  );

  it.each([
    ["http://tracking.example", "must begin with https:"],
    ["http://127.0.0.1.example", "must begin with https:"],
    ["http://10.0.0.1", "must begin with https:"],
    ["ftp://tracking.example", "must begin with https:"],
    ["https://user:pa55word@tracking.example", "must not hold credentials"],
    ["https://pa55word@tracking.example", "must not hold credentials"],
    ["https://tracking.example/?key=pa55word", "no query"],
    ["https://tracking.example/#pa55word", "no query, no fragment"],
    ["tracking.example", "must be the service's address"],
    ["", "must be the service's address"],
    ["https://tracking.example/api/v1", "must end before /api/v1"],
    ["https://tracking.example/eu/api/v1/", "must end before /api/v1"],
    ["https://tracking.example/api/v1/tracking", "must end before /api/v1"],
    [42, "must be the service's address"],
  ])("refuses %s as base URL, and does not repeat it", (baseUrl, because) => {
    const { message } = refusal({ ...right, baseUrl });
    expect(message).toContain(because);
    expect(message).not.toContain("pa55word");
  });

  it.each([
    "https://tracking.example",
    "https://tracking.example/eu/",
    "http://localhost:4010",
    "http://app.localhost",
    "http://127.0.0.1:4010",
    "http://127.1.2.3",
    "http://[::1]:4010",
    new URL("https://tracking.example"),
  ])("takes %s as base URL", async (baseUrl) => {
    await affiliate({ ...right, baseUrl }).close();
    await affiliate({ ...right, baseUrl: "http://tracking.internal", allowInsecure: true }).close();
  });

  it.each([
    ["clientId", 0],
    ["clientId", 4.2],
    ["clientId", Number.NaN],
    ["cookieName", "a b"],
    ["session", 42],
    ["consent", true],
    ["outbox", { add() {} }],
    ["logger", { warn() {} }],
    ["logger", { error() {} }],
    ["enabled", "yes"],
    ["waitUntil", {}],
    ["proxy", "proxy.example"],
    ["proxy", "socks5://proxy.example"],
    ["proxy", "http://bob:100%@proxy.example"],
    ["proxy", "http://proxy.example/path"],
    ["proxy", true],
    ["confirmReferral", "sometimes"],
    ["signed", ""],
    ["signed", "15 bytes of key"],
    ["signed", ["a secret of 16 b", "ä short secret"]],
    ["signed", []],
    ["signed", ["new", ""]],
    ["delivery", 8],
    ["delivery.concurrency", 0],
    ["delivery.concurrency", 257],
    ["delivery.maxAgeMs", -1],
    ["delivery.ambiguous.payment", "drop"],
  ])("refuses `%s: %o`", (path, value) => {
    expect(refusal({ ...right, ...at(path, value) }).message).toContain(`\`${path}\` must `);
  });

  it("takes a logger with syslog's levels", () => {
    const syslog = { error() {}, warning() {}, notice() {}, info() {}, debug() {} };
    expect(() => affiliate({ ...right, logger: syslog as never })).not.toThrow();
  });

  it.each([{}, { outbox: memoryOutbox() }])(
    "refuses `delivery: false` if no other process can deliver",
    (where) => {
      const { message } = refusal({ ...right, ...where, delivery: false });
      expect(message).toContain("`outbox` must be one that another process delivers from");
    },
  );

  it.each(["", "key with spaces", "key\r\nX-Other: 1", "ключ"])(
    "refuses %o as API key, and does not repeat it",
    (apiKey) => {
      const { message } = refusal({ ...right, apiKey });
      expect(message).toContain("`apiKey` must be the key and nothing else");
      if (apiKey) expect(message).not.toContain(apiKey);
    },
  );

  it.each([
    ["clientId", "sk_live_0123456789abcdef"],
    ["cookieName", "sk_live 0123456789abcdef"],
    ["delivery", "sk_live_0123456789abcdef"],
    ["delivery.ambiguous.payment", "sk_live_0123456789abcdef"],
    ["signed", ["sk_live_0123456789abcdef", ""]],
    ["proxy", "sk_live_0123456789abcdef"],
    ["sk_live-0123456789abcdef", "true"],
  ])("does not repeat an API key that stands in `%s`", (path, value) => {
    expect(refusal({ ...right, ...at(path, value) }).message).not.toMatch(/sk_live.0/);
  });

  const key = fc.stringMatching(/^[A-Za-z0-9_-]{5,40}$/).filter((text) => /\d/.test(text));
  const place = fc.constantFrom(
    ...["clientId", "cookieName", "session", "enabled", "confirmReferral"],
    ...["delivery", "delivery.timeoutMs", "delivery.ambiguous.payment"],
  );

  it("repeats no API key that stands anywhere else in the same call, however short", () => {
    forAny(key, place, fc.constantFrom("", "key: ", "x "), (apiKey, path, before) => {
      const { message } = refusal({ ...right, apiKey, nme: 1, ...at(path, `${before}${apiKey}`) });
      expect(message).not.toContain(apiKey);
    });
  });

  it("repeats no API key that is an option's name, or that stands under a wrong name", () => {
    const parents = fc.constantFrom("", "delivery.", "delivery.ambiguous.");
    forAny(key, parents, fc.boolean(), (apiKey, parent, isTwice) => {
      const elsewhere = isTwice ? { clientId: apiKey } : {};
      for (const wrong of [at(`${parent}${apiKey}`, true), at(`${parent}apiKy`, apiKey)])
        expect(refusal({ ...right, ...wrong, ...elsewhere }).message).not.toContain(apiKey);
    });
  });
});
