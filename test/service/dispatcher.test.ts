import { afterEach, describe, expect, it, vi } from "vitest";
import { outcomeOf } from "../../src/delivery/outcome.js";
import { certificates } from "../helpers/certificates.js";
import { faultyService } from "../helpers/faulty-service.js";
import { fixture } from "../helpers/fixture.js";
import { pay } from "../helpers/pay.js";
import { startProxy } from "../helpers/proxy.js";
import { startService } from "../helpers/service.js";
import { API_KEY, startTracker } from "../helpers/tracker.js";
import { post, transportTo } from "./helpers.js";

const UNSENT = { type: "no-answer", requestSent: false };

describe("an outgoing proxy", () => {
  const attempts = fixture("attempt");

  it("is given a tunnel's host, and never the key or the event", async () => {
    const { url, received } = await startService();
    const { address, asked } = await startProxy();
    const tracker = startTracker({ baseUrl: url, proxy: address.replace("http://", "http://bob:pa55word@") });
    await pay(tracker);
    await tracker.flush();
    expect(received).toMatchObject([{ headers: { authorization: `Bearer ${API_KEY}` } }]);
    expect(received[0]?.headers).not.toHaveProperty("proxy-authorization");
    expect(asked).toMatchObject([{ method: "CONNECT", url: new URL(url).host }]);
    expect(asked[0]?.headers["proxy-authorization"]).toBe(`Basic ${btoa("bob:pa55word")}`);
    expect(JSON.stringify(asked)).not.toMatch(new RegExp(`${API_KEY}|ada@`));
  });

  it.each([403, 407, 502, 204, "close", "reset"] as const)(
    "that answers CONNECT with %s leaves the request unsent, and is asked once",
    async (answer) => {
      const { url, received } = await startService();
      for (const baseUrl of [url, url.replace("http:", "https:")]) {
        const { address, asked } = await startProxy(answer);
        const attempt = await transportTo(baseUrl, { proxy: new URL(address) }).send(post);
        expect(attempt).toMatchObject({ ...UNSENT, error: { code: "ERR_PROXY" } });
        expect(outcomeOf(attempt, { maybeTaken: false, now: 0 })).toEqual({ type: "unreachable" });
        expect(asked).toHaveLength(1);
      }
      expect(received).toEqual([]);
    },
  );

  it("is reached over TLS, and the service through it", async () => {
    const made = certificates();
    const service = await faultyService({ tls: made.valid });
    const trusted = await startProxy(undefined, made.valid);
    const expired = await startProxy(undefined, made.expired);
    const proxies = [trusted.address, expired.address].map((address) => [service.url, address]);
    const run = attempts(proxies, { NODE_EXTRA_CA_CERTS: made.authorityFile, NODE_NO_WARNINGS: "1" });
    expect((await run.over).stderr).toBe("");
    expect(run.said).toEqual([
      { type: "delivered", code: 200 },
      { type: "unreachable", code: "ERR_PROXY" },
    ]);
    expect([trusted.asked.length, expired.asked.length, service.requests.length]).toEqual([1, 0, 1]);
  });

  it("that never answers leaves the request unsent, and is left for a new try", async () => {
    const { url } = await startService();
    const { address, asked } = await startProxy("silence");
    const transport = transportTo(url, { proxy: new URL(address), connectTimeoutMs: 50, connections: 1 });
    expect(await transport.send(post)).toMatchObject(UNSENT);
    expect(await transport.send(post)).toMatchObject(UNSENT);
    expect(asked).toHaveLength(2);
  });

  it("leaves a request in doubt that was sent into the tunnel and not answered", async () => {
    const { url, received } = await startService((_request, res) => void res.destroy());
    const { address } = await startProxy();
    const attempt = await transportTo(url, { proxy: new URL(address) }).send(post);
    expect(attempt).toMatchObject({ type: "no-answer", requestSent: true });
    expect(received).toHaveLength(1);
  });

  describe("of the environment", () => {
    afterEach(() => void vi.unstubAllEnvs());

    it("is used but for the hosts of NO_PROXY", async () => {
      const { url, received } = await startService();
      const { address, asked } = await startProxy();
      vi.stubEnv("http_proxy", address);
      const through = transportTo(url, { proxy: "environment" });
      expect(await through.send(post)).toMatchObject({ type: "answer", status: 200 });
      expect(asked).toHaveLength(1);
      vi.stubEnv("no_proxy", "127.0.0.1");
      const around = transportTo(url, { proxy: "environment" });
      expect(await around.send(post)).toMatchObject({ type: "answer", status: 200 });
      expect([asked.length, received.length]).toEqual([1, 2]);
    });

    it("is used only if the host says so", async () => {
      const { url } = await startService();
      const { address, asked } = await startProxy();
      vi.stubEnv("http_proxy", address);
      expect(await transportTo(url, {}).send(post)).toMatchObject({ type: "answer", status: 200 });
      expect(asked).toEqual([]);
    });

    it("is refused if it has no address, which is not repeated", () => {
      vi.stubEnv("https_proxy", "bob:pa55word@proxy");
      expect(() => startTracker({ baseUrl: "http://127.0.0.1:1", proxy: "environment" })).toThrow(
        /^affiliate: `proxy` is the environment's, and HTTPS_PROXY or HTTP_PROXY is no address((?!pa55word).)*$/,
      );
    });
  });
});
