import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { certificates } from "../helpers/certificates.js";
import { closedPort } from "../helpers/faulty-service.js";
import { type ConnectAnswer, startProxy } from "../helpers/proxy.js";
import { startService } from "../helpers/service.js";
import { linesLogger, startTracker } from "../helpers/tracker.js";

describe("an outgoing proxy that opens no tunnel", () => {
  let made: ReturnType<typeof certificates>;
  beforeAll(() => {
    made = certificates();
  });
  afterAll(() => made.remove());
  afterEach(() => void vi.unstubAllEnvs());

  async function proxyThat(answer: ConnectAnswer | "is down" | "is not trusted") {
    if (answer === "is down") return { address: `http://127.0.0.1:${await closedPort()}`, asked: [] };
    return answer === "is not trusted" ? startProxy(undefined, made.selfSigned) : startProxy(answer);
  }

  const cases: [Parameters<typeof proxyThat>[0], RegExp][] = [
    [502, /proxy answered CONNECT with 502; /],
    [403, /proxy answered CONNECT with 403: it does not allow the service's host/],
    [407, /proxy answered CONNECT with 407: it wants a user and a password/],
    ["close", /no tunnel through the outgoing proxy: other side closed/],
    ["reset", /no tunnel through the outgoing proxy: read ECONNRESET/],
    ["silence", /no tunnel through the outgoing proxy: Headers Timeout/],
    ["is down", /no tunnel through the outgoing proxy: connect ECONNREFUSED/],
    [
      "is not trusted",
      /no tunnel .*this machine does not know the authority that signed the proxy's certificate/,
    ],
  ];

  it.each(cases)("(%s) is an outage of the origin, told once with what it said", async (answer, says) => {
    const service = await startService();
    const { address, asked } = await proxyThat(answer);
    const proxy = address.replace("://", "://bob:pa55word@");
    vi.stubEnv("http_proxy", proxy);
    const logger = linesLogger();
    const tracker = startTracker({
      baseUrl: service.url,
      proxy: answer === 502 ? "environment" : proxy,
      delivery: { connectTimeoutMs: 100 },
      logger,
    });
    const paused = new Promise((resolve) => tracker.on("paused", resolve));
    for (let n = 0; n < 12; n++) {
      await tracker.trackPayment(
        { paymentId: n, customerEmail: "a@shop.example", leadValue: 1 },
        { sessionId: `s${n}` },
      );
    }
    expect(await paused).toMatchObject({ scope: "origin", reason: "unreachable" });
    // Longer than until the service is asked again: that tells nothing new.
    await expect.poll(() => Object(tracker.stats().endpoints.click).pausedMs).toBeGreaterThan(1_200);
    const warnings = logger.lines.filter((line) => line.includes("paused"));
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toMatch(says);
    expect(logger.lines.join()).not.toMatch(/bob|pa55word|Ym9i/);
    // The attempts that were under way; then the status endpoint, after 1 s.
    expect(asked.length).toBeLessThanOrEqual(8 + 1);
    expect(service.received).toEqual([]);
    expect(tracker.stats()).toMatchObject({ queued: 12, dead: { rejected: 0, unconfirmed: 0, expired: 0 } });
  });
});
