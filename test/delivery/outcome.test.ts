import { errors } from "undici";
import { describe, expect, it } from "vitest";
import { outcomeOf } from "../../src/delivery/outcome.js";
import { type Attempt, HeldBack } from "../../src/service/attempt.js";
import { errorCodeOf } from "../../src/shared/errors.js";

const NOW = Date.UTC(2025, 0, 1);

const silence = (code: string, requestSent: boolean): Attempt => ({
  type: "no-answer",
  requestSent,
  error: Object.assign(new Error(code), { code }),
});
const answer = (
  status: number,
  more: { body?: unknown; retryAfter?: string; date?: string } = {},
): Attempt => ({
  type: "answer",
  status,
  body: undefined,
  ...more,
});
const judge = (attempt: Attempt, maybeTaken = false) => outcomeOf(attempt, { maybeTaken, now: NOW });

/** By undici's codes, what a request could not do that will never be able to. */
const UNSENDABLE = ["UND_ERR_INVALID_ARG", "UND_ERR_NOT_SUPPORTED", "UND_ERR_REQ_CONTENT_LENGTH_MISMATCH"];

/** One of each of the errors that undici exports. */
function undiciErrors(): Error[] {
  return Object.entries(errors).map(([name, UndiciError]) => {
    const Constructor = UndiciError as new (...args: unknown[]) => Error;
    if (name === "HTTPParserError") return new Constructor("parsing", "INVALID_CONSTANT");
    if (name === "Socks5ProxyError") return new Constructor("proxy", "UND_ERR_SOCKS5");
    return name === "RequestRetryError" || name === "ResponseError"
      ? new Constructor("status", 500, { headers: {}, data: null })
      : new Constructor("message");
  });
}

describe("an attempt without an answer", () => {
  const codes = [...undiciErrors().map(errorCodeOf), "ECONNREFUSED", "ENOTFOUND", "CERT_HAS_EXPIRED"];

  it.each(codes)(
    "is, for %s, unreachable or unsendable if the request never left, and otherwise ambiguous",
    (code) => {
      const type = UNSENDABLE.includes(code) ? "unsendable" : "unreachable";
      expect(judge(silence(code, false))).toEqual({ type });
      expect(judge(silence(code, false), true)).toEqual({ type });
      expect(judge(silence(code, true))).toEqual({ type: "ambiguous" });
    },
  );

  it("is unsent if this process held it back, by its own mark", () => {
    const error = new HeldBack("ERR_CLAIM_LOST", "another process has it");
    expect(judge({ type: "no-answer", requestSent: false, error })).toEqual({ type: "unsent" });
    expect(judge({ type: "no-answer", requestSent: true, error })).toEqual({ type: "ambiguous" });
  });
});

describe("an answer", () => {
  // test/docs/delivery.test.ts compares each status below 600 with the table there.
  it("is ambiguous with a status that nobody has specified", () => {
    for (let status = 600; status < 1_000; status++) expect(judge(answer(status)).type).toBe("ambiguous");
  });

  it("of a 2xx, or of 409 as a proof, has the lead id of its body", () => {
    const body = { success: true, leadId: "7" };
    expect(judge(answer(201, { body }))).toEqual({ type: "delivered", leadId: 7 });
    expect(judge(answer(409, { body: { leadId: 7 } }), true)).toEqual({ type: "delivered", leadId: 7 });
  });
});

describe("Retry-After", () => {
  it.each([
    ["120", 120_000],
    [" 120 ", 120_000],
    ["0", 1_000],
    ["3600", 3_600_000],
    ["3601", 3_600_000],
    ["99999999999999999999999999", 3_600_000],
    ["Wed, 01 Jan 2025 00:02:00 GMT", 120_000],
    ["Wednesday, 01-Jan-25 00:02:00 GMT", 120_000],
    ["Wed Jan  1 00:02:00 2025", 120_000],
    ["Tue, 31 Dec 2024 23:00:00 GMT", 1_000],
    ["Fri, 01 Jan 2100 00:00:00 GMT", 3_600_000],
  ])("of %j is obeyed, between a second and an hour", (retryAfter, retryAfterMs) => {
    const throttled = { type: "throttled", retryAfterMs };
    expect(judge(answer(429, { retryAfter }))).toEqual(throttled);
    expect(judge(answer(503, { retryAfter }))).toEqual(throttled);
  });

  it.each(["", "soon", "-5", "1.5", "1e3", "0x10", "2025-01-01", "May 5", "Wed, 99 Foo 2025"])(
    "of %j says nothing",
    (retryAfter) => {
      expect(judge(answer(429, { retryAfter }))).toEqual({ type: "failed" });
      expect(judge(answer(503, { retryAfter }))).toEqual({ type: "failed" });
    },
  );

  it("names a date by the service's own clock, if the answer says what that shows", () => {
    const retryAfter = "Wed, 01 Jan 2025 08:02:00 GMT";
    const throttled = { type: "throttled", retryAfterMs: 120_000 };
    expect(judge(answer(429, { retryAfter, date: "Wed, 01 Jan 2025 08:00:00 GMT" }))).toEqual(throttled);
    expect(judge(answer(429, { retryAfter, date: "soon" }))).toMatchObject({ retryAfterMs: 3_600_000 });
  });

  it("means nothing with any other status", () => {
    expect(judge(answer(500, { retryAfter: "60" }))).toEqual({ type: "failed" });
    expect(judge(answer(400, { retryAfter: "60" }))).toEqual({ type: "rejected" });
  });
});
