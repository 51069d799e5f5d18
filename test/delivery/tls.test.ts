import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { tlsAdvice } from "../../src/delivery/tls-advice.js";
import { certificates } from "../helpers/certificates.js";
import { faultyService } from "../helpers/faulty-service.js";
import { linesLogger, startTracker } from "../helpers/tracker.js";

const NOT_HTTP = "HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n";

describe("a connection that TLS does not let stand", () => {
  let made: ReturnType<typeof certificates>;
  beforeAll(() => {
    made = certificates();
  });
  afterAll(() => made.remove());

  const cases: [string, () => Parameters<typeof faultyService>[0], RegExp][] = [
    ["has expired", () => ({ tls: made.expired }), /NODE_EXTRA_CA_CERTS|expired/],
    [
      "is signed by itself",
      () => ({ tls: made.selfSigned }),
      /does not know the authority .* NODE_EXTRA_CA_CERTS/,
    ],
    [
      "belongs to a service that speaks an old version alone",
      () => ({
        tls: { ...made.valid, minVersion: "TLSv1", maxVersion: "TLSv1.1", ciphers: "DEFAULT@SECLEVEL=0" },
      }),
      /no TLS in common/,
    ],
    [
      "is missing, for the port speaks plain HTTP",
      () => ({ onConnection: (socket) => void socket.once("data", () => socket.end(NOT_HTTP)) }),
      /no TLS in common/,
    ],
  ];

  it.each(cases)(
    "since the certificate %s, is told once, with what to do",
    async (_name, options, remedy) => {
      const service = await faultyService(options());
      const logger = linesLogger();
      const tracker = startTracker({ baseUrl: service.url.replace("http:", "https:"), logger });
      const paused = new Promise<Record<string, unknown>>((resolve) =>
        tracker.on("paused", resolve as never),
      );
      for (let n = 0; n < 5; n++) {
        await tracker.trackPayment(
          { paymentId: n, customerEmail: "a@shop.example", leadValue: 1 },
          { sessionId: `s${n}` },
        );
      }
      expect(await paused).toMatchObject({ scope: "origin", reason: "unreachable" });
      // Longer than until the service is asked again: that tells nothing new.
      const lasted = () => Object(tracker.stats().endpoints.click).pausedMs;
      await expect.poll(lasted).toBeGreaterThan(1_200);
      const warnings = logger.lines.filter((line) => line.includes("paused"));
      expect(warnings).toHaveLength(1);
      expect(warnings[0]).toMatch(remedy);
      expect(tracker.stats().dead).toEqual({ rejected: 0, unconfirmed: 0, expired: 0 });
    },
  );
});

it.each([
  ["CERT_HAS_EXPIRED", /has expired/],
  ["CERT_NOT_YET_VALID", /not valid yet: check the clocks/],
  ["ERR_TLS_CERT_ALTNAME_INVALID", /for another name/],
  ["HOSTNAME_MISMATCH", /for another name/],
  ["UNABLE_TO_VERIFY_LEAF_SIGNATURE", /NODE_EXTRA_CA_CERTS/],
  ["CERT_REVOKED", /cannot be trusted/],
  ["ERR_SSL_WRONG_VERSION_NUMBER", /no TLS in common/],
  ["EPROTO", /no TLS in common/],
])("%s has a remedy", (code, remedy) => {
  expect(tlsAdvice(code)).toMatch(remedy);
});

it.each(["ECONNREFUSED", "ENOTFOUND", "UND_ERR_CONNECT_TIMEOUT"])("%s is no matter of TLS", (code) => {
  expect(tlsAdvice(code)).toBeUndefined();
});
