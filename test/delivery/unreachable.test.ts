/** What is told of a service that no connection reaches: its TLS or an outgoing proxy is at fault. */
import { afterEach, describe, expect, it, vi } from "vitest";
import { certificates } from "../helpers/certificates.js";
import { closedPort, faultyService } from "../helpers/faulty-service.js";
import { pay } from "../helpers/pay.js";
import { beyond, type ConnectAnswer, startProxy } from "../helpers/proxy.js";
import { startService } from "../helpers/service.js";
import { type startTracker, trackerWithLines } from "../helpers/tracker.js";

const NOT_HTTP = "HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n";
const PAYMENTS = 12;

const made = certificates();
afterEach(() => void vi.unstubAllEnvs());

/** Reports payments, and gives all that is logged by the time that the service is asked again. */
async function loggedInOutage(options: Parameters<typeof startTracker>[0]) {
  const { tracker, lines } = trackerWithLines(options);
  const paused = new Promise((resolve) => tracker.on("paused", resolve));
  for (let n = 0; n < PAYMENTS; n++) await pay(tracker, n);
  expect(await paused).toMatchObject({ scope: "origin", reason: "unreachable" });
  // Longer than until the service is asked again: that tells nothing new.
  await expect.poll(() => Object(tracker.stats().endpoints.click).pausedMs).toBeGreaterThan(1_200);
  const dead = { rejected: 0, unconfirmed: 0, expired: 0 };
  expect(tracker.stats()).toMatchObject({ queued: PAYMENTS, dead });
  return { lines, tracker };
}

function expectOneWarning(lines: readonly string[], says: RegExp): void {
  expect(lines.filter((line) => line.includes("paused"))).toEqual([expect.stringMatching(says)]);
}

describe("an outgoing proxy that opens no tunnel", () => {
  async function proxyThat(answer: ConnectAnswer | "is down" | "is not trusted") {
    if (answer === "is down") return { address: `http://127.0.0.1:${await closedPort()}`, asked: [] };
    return answer === "is not trusted" ? startProxy(undefined, made.selfSigned) : startProxy(answer);
  }

  it.each<[Parameters<typeof proxyThat>[0], RegExp]>([
    [502, /proxy answered CONNECT with 502; /],
    [204, /proxy answered CONNECT with 204; /],
    [403, /proxy answered CONNECT with 403: it does not allow the service's host/],
    [407, /proxy answered CONNECT with 407: it wants a user and a password/],
    ["close", /no tunnel through the outgoing proxy: other side closed/],
    ["reset", /no tunnel through the outgoing proxy: read ECONNRESET/],
    ["silence", /no tunnel through the outgoing proxy: Headers Timeout/],
    ["is down", /no tunnel through the outgoing proxy: connect ECONNREFUSED/],
    ["is not trusted", /no tunnel through the outgoing proxy: self-signed certificate/],
  ])("(%s) is an outage of the origin, told once with what it said", async (answer, says) => {
    const service = await startService();
    const { address, asked } = await proxyThat(answer);
    const proxy = address.replace("://", "://bob:pa55word@");
    vi.stubEnv("http_proxy", proxy);
    const { lines } = await loggedInOutage({
      baseUrl: beyond(service.url),
      allowInsecure: true,
      proxy: answer === 502 ? "environment" : proxy,
      ...(answer === "silence" && { delivery: { connectTimeoutMs: 500 } }),
    });
    expectOneWarning(lines, says);
    expect(lines.join()).not.toMatch(/bob|pa55word|Ym9i/);
    // The eight attempts that were under way; then the status endpoint, after 1 s and perhaps 3 s.
    expect(asked.length).toBeLessThan(PAYMENTS);
    expect(service.received).toEqual([]);
  });

  it("ends once it opens tunnels: each payment arrives once", async () => {
    const { url, posted } = await startService();
    const proxy = await startProxy(403);
    const options = { baseUrl: beyond(url), allowInsecure: true, proxy: proxy.address };
    const { tracker } = await loggedInOutage(options);
    proxy.answer = undefined;
    await expect.poll(() => tracker.stats().delivered, { timeout: 15_000 }).toBe(PAYMENTS);
    expect(posted).toHaveLength(PAYMENTS);
  });
});

it.each<[string, () => Parameters<typeof faultyService>[0], RegExp]>([
  ["has expired", () => ({ tls: made.expired }), /certificate has expired|NODE_EXTRA_CA_CERTS/],
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
])(
  "a connection that TLS refuses because the certificate %s is reported once, with what to do",
  async (_name, options, remedy) => {
    const service = await faultyService(options());
    const { lines } = await loggedInOutage({ baseUrl: service.url.replace("http:", "https:") });
    expectOneWarning(lines, remedy);
  },
);
