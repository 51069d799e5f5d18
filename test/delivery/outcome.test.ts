import { errors } from "undici";
import { describe, expect, it } from "vitest";
import { type Outcome, outcomeOf } from "../../src/delivery/outcome.js";
import { type Attempt, HeldBack } from "../../src/service/attempt.js";
import { errorCodeOf } from "../../src/shared/errors.js";

const NOW = Date.UTC(2025, 0, 1);

const silence = (code: string, requestSent: boolean): Attempt => ({
  type: "no-answer",
  requestSent,
  error: Object.assign(new Error(code), { code }),
});
const answer = (status: number, more: { body?: unknown; retryAfter?: string } = {}): Attempt => ({
  type: "answer",
  status,
  body: undefined,
  ...more,
});
const judge = (attempt: Attempt, maybeTaken = false) => outcomeOf(attempt, { maybeTaken, now: NOW });

/** What each of undici's errors means when the request's head never left; once it left, every one is ambiguous. */
const UNSENT: Record<string, Outcome["type"]> = {
  UND_ERR: "unreachable",
  UND_ERR_ABORT: "unreachable",
  UND_ERR_ABORTED: "unreachable",
  UND_ERR_BODY_TIMEOUT: "unreachable",
  UND_ERR_BPL_MISSING_UPSTREAM: "unreachable",
  UND_ERR_CLOSED: "unreachable",
  UND_ERR_CONNECT_TIMEOUT: "unreachable",
  UND_ERR_DESTROYED: "unreachable",
  UND_ERR_HEADERS_OVERFLOW: "unreachable",
  UND_ERR_HEADERS_TIMEOUT: "unreachable",
  UND_ERR_INFO: "unreachable",
  UND_ERR_INVALID_ARG: "unsendable",
  UND_ERR_INVALID_RETURN_VALUE: "unreachable",
  UND_ERR_MAX_ORIGINS_REACHED: "unreachable",
  UND_ERR_NOT_SUPPORTED: "unsendable",
  UND_ERR_PRX_TLS: "unreachable",
  UND_ERR_REQ_CONTENT_LENGTH_MISMATCH: "unsendable",
  UND_ERR_REQ_RETRY: "unreachable",
  UND_ERR_RESPONSE: "unreachable",
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: "unreachable",
  UND_ERR_RES_EXCEEDED_MAX_SIZE: "unreachable",
  UND_ERR_SOCKET: "unreachable",
  UND_ERR_SOCKS5: "unreachable",
  UND_ERR_WS_MESSAGE_SIZE_EXCEEDED: "unreachable",
  HPE_INVALID_CONSTANT: "unreachable",
  HTTPParserError: "unreachable",
  // Of the system, of DNS and of this package.
  EAI_AGAIN: "unreachable",
  ECONNREFUSED: "unreachable",
  ECONNRESET: "unreachable",
  EHOSTUNREACH: "unreachable",
  EMFILE: "unreachable",
  ENETUNREACH: "unreachable",
  ENOTFOUND: "unreachable",
  EPIPE: "unreachable",
  EPROTO: "unreachable",
  ERR_DEADLINE: "unreachable",
  ERR_PROXY: "unreachable",
  ERR_SSL_WRONG_VERSION_NUMBER: "unreachable",
  ETIMEDOUT: "unreachable",
  // Of certificates: OpenSSL's names for them, as Node passes them on.
  CERT_CHAIN_TOO_LONG: "unreachable",
  CERT_HAS_EXPIRED: "unreachable",
  CERT_NOT_YET_VALID: "unreachable",
  CERT_REJECTED: "unreachable",
  CERT_REVOKED: "unreachable",
  CERT_SIGNATURE_FAILURE: "unreachable",
  CERT_UNTRUSTED: "unreachable",
  DEPTH_ZERO_SELF_SIGNED_CERT: "unreachable",
  ERR_TLS_CERT_ALTNAME_FORMAT: "unreachable",
  ERR_TLS_CERT_ALTNAME_INVALID: "unreachable",
  HOSTNAME_MISMATCH: "unreachable",
  INVALID_CA: "unreachable",
  INVALID_PURPOSE: "unreachable",
  PATH_LENGTH_EXCEEDED: "unreachable",
  SELF_SIGNED_CERT_IN_CHAIN: "unreachable",
  UNABLE_TO_DECRYPT_CERT_SIGNATURE: "unreachable",
  UNABLE_TO_GET_ISSUER_CERT: "unreachable",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: "unreachable",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "unreachable",
};

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
  it("has a row for every error that undici exports", () => {
    const without = undiciErrors()
      .map(errorCodeOf)
      .filter((code) => !Object.hasOwn(UNSENT, code));
    expect(without).toEqual([]);
  });

  it.each(Object.entries(UNSENT))("is, for %s, %s where the request never left", (code, type) => {
    expect(judge(silence(code, false))).toEqual({ type });
    expect(judge(silence(code, false), true)).toEqual({ type });
  });

  it.each(Object.keys(UNSENT))("is ambiguous for %s where the request left", (code) => {
    expect(judge(silence(code, true))).toEqual({ type: "ambiguous" });
  });

  it("is unsent where this process held it back, by its own mark", () => {
    const error = new HeldBack("ERR_CLAIM_LOST", "another process has it");
    expect(judge({ type: "no-answer", requestSent: false, error })).toEqual({ type: "unsent" });
    expect(judge({ type: "no-answer", requestSent: true, error })).toEqual({ type: "ambiguous" });
  });

  it("is known by the code of what caused the error, where it has none itself", () => {
    const cause = Object.assign(new Error("expired"), { code: "CERT_HAS_EXPIRED" });
    const error = new TypeError("fetch failed", { cause });
    expect(judge({ type: "no-answer", requestSent: false, error })).toEqual({ type: "unreachable" });
    expect(errorCodeOf(new RangeError("no code at all"))).toBe("RangeError");
  });
});

const STATUSES: Record<Outcome["type"], readonly number[]> = {
  delivered: [200, 201, 202, 203, 204, 205, 206, 226, 299],
  rejected: [
    400, 402, 406, 409, 411, 412, 413, 414, 415, 416, 417, 418, 421, 422, 423, 424, 426, 428, 431, 451, 499,
  ],
  refused: [300, 301, 302, 303, 304, 305, 307, 308, 399, 401, 403, 404, 405, 407, 410, 501],
  throttled: [],
  unreachable: [],
  unsendable: [],
  unsent: [],
  failed: [408, 425, 429, 500, 503, 521, 523, 525, 526, 530],
  ambiguous: [502, 504, 505, 506, 507, 508, 510, 511, 520, 522, 524, 527, 529, 599, 600, 999],
};
const eachStatus = Object.entries(STATUSES).flatMap(([type, statuses]) =>
  statuses.map((status) => ({ status, type })),
);

describe("an answer", () => {
  it.each(eachStatus)("is, with status $status, $type", ({ status, type }) => {
    expect(judge(answer(status)).type).toBe(type);
  });

  it("has an outcome whatever its status", () => {
    for (let status = 200; status < 1_000; status++) {
      const { type } = judge(answer(status));
      if (status < 300) expect(type).toBe("delivered");
      else if (status < 400) expect(type).toBe("refused");
      else expect(type).not.toBe("delivered");
    }
  });

  it.each([
    ["an object", { success: true }],
    ["an object without `success`", { message: "taken" }],
    ["`success` that is no boolean", { success: "false" }],
    ["null", null],
    ["text", "ok"],
    ["an array", [{ success: false }]],
    ["nothing that can be read", undefined],
  ])("of a 2xx is a yes with a body that is %s", (_name, body) => {
    expect(judge(answer(200, { body }))).toEqual({ type: "delivered" });
    expect(judge(answer(201, { body }))).toEqual({ type: "delivered" });
  });

  it("of a 2xx is a no where it says `success: false`", () => {
    expect(judge(answer(200, { body: { success: false } }))).toEqual({ type: "rejected" });
    expect(judge(answer(201, { body: { success: false } }), true)).toEqual({ type: "rejected" });
  });

  it("of a 2xx, or of 409 as a proof, has the lead id of its body", () => {
    const body = { success: true, leadId: "7" };
    expect(judge(answer(201, { body }))).toEqual({ type: "delivered", leadId: 7 });
    expect(judge(answer(409, { body: { leadId: 7 } }), true)).toEqual({ type: "delivered", leadId: 7 });
  });

  it("of 409 is the proof that an ambiguous attempt was taken", () => {
    expect(judge(answer(409), true)).toEqual({ type: "delivered" });
    expect(judge(answer(409), false)).toEqual({ type: "rejected" });
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

  it("means nothing with any other status", () => {
    expect(judge(answer(500, { retryAfter: "60" }))).toEqual({ type: "failed" });
    expect(judge(answer(400, { retryAfter: "60" }))).toEqual({ type: "rejected" });
  });
});
