import { afterEach, describe, expect, it, vi } from "vitest";
import { isLoopback } from "../../src/service/dispatcher.js";
import { certificates } from "../helpers/certificates.js";
import { faultyService } from "../helpers/faulty-service.js";
import { fixture } from "../helpers/fixture.js";
import { pay } from "../helpers/pay.js";
import { beyond, startProxy } from "../helpers/proxy.js";
import { startService } from "../helpers/service.js";
import { API_KEY, startTracker } from "../helpers/tracker.js";
import { post, transportTo } from "./helpers.js";

const UNSENT = { type: "no-answer", requestSent: false };

describe("an outgoing proxy", () => {
  const attempts = fixture("attempt");

  it("is given a tunnel's host, and never the key or the event", async () => {
    const { url, received } = await startService();
    const { address, asked } = await startProxy();
    const baseUrl = beyond(url);
    const proxy = address.replace("http://", "http://bob:pa55word@");
    const tracker = startTracker({ baseUrl, allowInsecure: true, proxy });
    await pay(tracker);
    await tracker.flush();
    expect(received).toMatchObject([{ headers: { authorization: `Bearer ${API_KEY}` } }]);
    expect(received[0]?.headers).not.toHaveProperty("proxy-authorization");
    expect(asked).toMatchObject([{ method: "CONNECT", url: new URL(baseUrl).host }]);
    expect(asked[0]?.headers["proxy-authorization"]).toBe(`Basic ${btoa("bob:pa55word")}`);
    expect(JSON.stringify(asked)).not.toMatch(new RegExp(`${API_KEY}|ada@`));
  });

  it("is reached over TLS, and the service through it", async () => {
    const made = certificates();
    const service = await faultyService({ tls: made.valid });
    const trusted = await startProxy(undefined, made.valid);
    const expired = await startProxy(undefined, made.expired);
    const proxies = [trusted.address, expired.address].map((address) => [beyond(service.url), address]);
    const run = attempts(proxies, { NODE_EXTRA_CA_CERTS: made.authorityFile, NODE_NO_WARNINGS: "1" });
    expect((await run.over).stderr).toBe("");
    expect(run.said).toEqual([
      { type: "delivered", code: 200 },
      { type: "unreachable", code: "ERR_PROXY" },
    ]);
    expect([trusted.asked.length, expired.asked.length, service.requests.length]).toEqual([1, 0, 1]);
  });

  it("leaves a request in doubt that was sent into the tunnel and not answered", async () => {
    const { url, received } = await startService((_request, res) => void res.destroy());
    const { address } = await startProxy();
    const attempt = await transportTo(beyond(url), { proxy: new URL(address) }).send(post);
    expect(attempt).toMatchObject({ type: "no-answer", requestSent: true });
    expect(received).toHaveLength(1);
  });

  it("is asked for no loopback address, whoever names it", async () => {
    const { url, received } = await startService();
    const { address, asked } = await startProxy();
    vi.stubEnv("http_proxy", address);
    for (const proxy of [new URL(address), "environment"] as const) {
      const attempt = await transportTo(url.replace("127.0.0.1", "localhost"), { proxy }).send(post);
      expect(attempt).toMatchObject({ type: "answer", status: 200 });
    }
    expect([asked.length, received.length]).toEqual([0, 2]);
    vi.unstubAllEnvs();
  });

  it("has nothing to do with this machine, by whatever name, and with no other name", () => {
    const isOwn = (host: string) => isLoopback(new URL(`http://${host}`).hostname);
    const own = [
      ...["localhost", "LOCALHOST.", "shop.localhost", "127.0.0.1", "127.1"],
      ...["0x7f.1", "2130706433", "0.0.0.0"],
      ...["[::1]", "[0:0:0:0:0:0:0:1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:7f01:203]"],
    ];
    const others = ["localhost.example", "notlocalhost", "127.0.0.1.example", "126.0.0.1", "[::2]"];
    expect([...own, ...others, "[::ffff:8.8.8.8]"].filter(isOwn)).toEqual(own);
  });

  describe("of the environment", () => {
    afterEach(() => void vi.unstubAllEnvs());

    it("is used only if the host says so, and not for the hosts of NO_PROXY", async () => {
      const { url, received } = await startService();
      const { address, asked } = await startProxy();
      vi.stubEnv("http_proxy", address);
      // Only the proxy knows the name.
      expect(await transportTo(beyond(url)).send(post)).toMatchObject(UNSENT);
      const through = transportTo(beyond(url), { proxy: "environment" });
      expect(await through.send(post)).toMatchObject({ type: "answer", status: 200 });
      expect(asked).toHaveLength(1);
      vi.stubEnv("no_proxy", "service.test");
      expect(await transportTo(beyond(url), { proxy: "environment" }).send(post)).toMatchObject(UNSENT);
      expect([asked.length, received.length]).toEqual([1, 1]);
    });

    it.each(["bob:pa55word@proxy", "socks5://bob:pa55word@proxy:1080", "http://proxy/?pa55word"])(
      "is refused if it has no address of http, which is not repeated: %s",
      (address) => {
        vi.stubEnv("https_proxy", address);
        expect(() => startTracker({ baseUrl: "https://tracking.example", proxy: "environment" })).toThrow(
          /^affiliate: `proxy` is "environment", but HTTPS_PROXY or HTTP_PROXY is no http or https URL((?!pa55word).)*$/,
        );
      },
    );
  });
});
