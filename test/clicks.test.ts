import type { Request, RequestHandler } from "express";
import fc from "fast-check";
import request from "supertest";
import { afterEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { type AffiliateOptions, type OnClickOptions, OptionsError } from "../src/index.js";
import { eachExpress } from "./helpers/express.js";
import { startService } from "./helpers/service.js";
import { startTracker } from "./helpers/tracker.js";

const FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:146.0) Gecko/20100101 Firefox/146.0";

describe.each(eachExpress)("onClick on $name", ({ express }) => {
  async function landing(
    options: OnClickOptions = {},
    trackerOptions: Partial<AffiliateOptions> = {},
    before: RequestHandler = (_req, _res, next) => next(),
  ) {
    const { url, posted } = await startService();
    const tracker = startTracker({ baseUrl: url, ...trackerOptions });
    const app = express();
    app.use(tracker, before);
    app.all("/", tracker.onClick(options), (req, res) => {
      res.json(req.affiliate?.snapshot());
    });
    const server = app.listen(0, "127.0.0.1");
    onTestFinished(() => void server.close());
    const visit = (path: string, headers: Record<string, string> = {}) =>
      request(server)
        .get(path)
        .set({ Accept: "text/html,*/*;q=0.8", "User-Agent": FIREFOX, Host: "shop.example", ...headers });
    const clicks = async () => {
      await tracker.flush();
      return posted.map(({ body }) => body);
    };
    return { app, server, tracker, visit, clicks };
  }

  const cookiesOf = (response: request.Response) => response.get("Set-Cookie") ?? [];
  const sentBack = (response: request.Response) =>
    cookiesOf(response)
      .map((cookie) => cookie.split(";")[0])
      .join("; ");

  it("turns the reference into a click, with ids that the visitor takes along", async () => {
    const { visit, clicks } = await landing();
    const response = await visit("/?ref=ALICE&utm_source=newsletter&utm_medium=mail&session=secret", {
      Referer: "https://user:pass@blog.example/post?token=secret#top",
    });
    const { clickId, sessionId } = response.body;
    expect(await clicks()).toEqual([
      {
        clientId: 42,
        affiliateReference: "ALICE",
        clickId,
        sessionId,
        clickedUrl: "http://shop.example/?ref=ALICE&utm_source=newsletter&utm_medium=mail",
        referrerUrl: "https://blog.example/post",
        userAgent: FIREFOX,
        source: "newsletter",
      },
    ]);
    const [click, session] = cookiesOf(response);
    expect(click).toMatch(
      new RegExp(`^svc_click_id=${clickId}; Max-Age=2592000; Path=/; Expires=[^;]+; SameSite=Lax$`),
    );
    expect(session).toMatch(
      new RegExp(
        `^svc_session_id=${sessionId}; Max-Age=2592000; Path=/; Expires=[^;]+; HttpOnly; SameSite=Lax$`,
      ),
    );
    expect(response.get("Cache-Control")).toBe("private");
  });

  it("sets Secure on https and the domain as told", async () => {
    const { app, visit } = await landing({ domain: "shop.example", maxAgeMs: 60_000 });
    app.set("trust proxy", true);
    const response = await visit("/?ref=ALICE", { "X-Forwarded-Proto": "https" });
    for (const cookie of cookiesOf(response)) {
      expect(cookie).toMatch(/Max-Age=60; Domain=shop\.example; Path=\/; .*Secure; SameSite=Lax/);
    }
  });

  it("leaves a stricter Cache-Control alone", async () => {
    const { visit } = await landing({}, {}, (_req, res, next) => {
      res.setHeader("Cache-Control", "no-store");
      next();
    });
    expect((await visit("/?ref=ALICE")).get("Cache-Control")).toBe("no-store");
  });

  it("keeps the session that the visitor has", async () => {
    const { visit, clicks } = await landing();
    const response = await visit("/?ref=ALICE", { Cookie: "svc_session_id=s1; svc_click_id=of-the-snippet" });
    expect(cookiesOf(response).map((cookie) => cookie.split("=")[0])).toEqual(["svc_click_id"]);
    expect(await clicks()).toMatchObject([{ sessionId: "s1", clickId: response.body.clickId }]);
  });

  it("keeps the session id where `session` says that it is, or not at all", async () => {
    const named = await landing({}, { session: "sid" });
    expect(cookiesOf(await named.visit("/?ref=ALICE")).map((cookie) => cookie.split("=")[0])).toEqual([
      "svc_click_id",
      "sid",
    ]);
    const own = await landing({}, { session: () => "own" });
    const response = await own.visit("/?ref=ALICE");
    expect(cookiesOf(response).map((cookie) => cookie.split("=")[0])).toEqual(["svc_click_id"]);
    expect(await own.clicks()).toMatchObject([{ sessionId: "own" }]);
  });

  describe("with the clock in hand", () => {
    afterEach(() => void vi.useRealTimers());

    it("reports the same visitor and reference once an hour, and another reference at once", async () => {
      vi.useFakeTimers({ toFake: ["Date"] });
      const { visit, clicks } = await landing();
      const first = await visit("/?ref=ALICE");
      const cookie = sentBack(first);

      const again = await visit("/?ref=ALICE", { Cookie: cookie });
      expect(cookiesOf(again)).toEqual([]);
      expect(again.body).toEqual(first.body);
      expect(await clicks()).toHaveLength(1);

      await visit("/?ref=BOB", { Cookie: cookie });
      expect(await clicks()).toHaveLength(2);

      vi.advanceTimersByTime(60 * 60 * 1_000);
      const { body } = await visit("/?ref=ALICE", { Cookie: cookie });
      expect(body.sessionId).toBe(first.body.sessionId);
      expect(body.clickId).not.toBe(first.body.clickId);
      expect(await clicks()).toHaveLength(3);
    });
  });

  it.each([
    ["no reference", "/", {}],
    ["two references", "/?ref=ALICE&ref=BOB", {}],
    ["an object for a reference", "/?ref[a]=ALICE", {}],
    ["an empty reference", "/?ref=", {}],
    ["a reference with a space", "/?ref=A%20B", {}],
    ["a long reference", `/?ref=${"A".repeat(257)}`, {}],
    ["a request for JSON", "/?ref=ALICE", { Accept: "application/json" }],
  ])("sees no click in %s", async (_, path, headers) => {
    const { visit, clicks, tracker } = await landing();
    const response = await visit(path, headers);
    expect(cookiesOf(response)).toEqual([]);
    expect(await clicks()).toEqual([]);
    expect(tracker.stats().skipped).toMatchObject({ prefetch: 0, bot: 0 });
  });

  it("sees no click in a POST", async () => {
    const { server, clicks } = await landing();
    await request(server).post("/?ref=ALICE").set("Accept", "text/html").set("User-Agent", FIREFOX);
    expect(await clicks()).toEqual([]);
  });

  it.each([
    [{ "Sec-Purpose": "prefetch" }, "prefetch"],
    [{ "Sec-Purpose": "prefetch;prerender" }, "prefetch"],
    [{ Purpose: "prefetch" }, "prefetch"],
    [{ "X-Moz": "prefetch" }, "prefetch"],
    [{ "User-Agent": "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)" }, "bot"],
    [{ "User-Agent": "curl/8.5.0" }, "bot"],
  ] as const)("skips %j as a %s", async (headers, reason) => {
    const { visit, clicks, tracker } = await landing();
    expect(cookiesOf(await visit("/?ref=ALICE", headers))).toEqual([]);
    expect(await clicks()).toEqual([]);
    expect(tracker.stats().skipped[reason]).toBe(1);
  });

  it("answers every query and header as if it were not there", async () => {
    const { visit, clicks } = await landing({ param: "r" });
    const name = fc.constantFrom(
      "r",
      "r[]",
      "r[a]",
      "__proto__",
      "r[__proto__]",
      "utm_source",
      "utm_source[x]",
    );
    const query = fc.array(fc.tuple(name, fc.string({ unit: "grapheme" }).map(encodeURIComponent)), {
      maxLength: 4,
    });
    const header = fc.string({
      unit: fc.integer({ min: 0x20, max: 0x7e }).map((c) => String.fromCharCode(c)),
    });
    await fc.assert(
      fc.asyncProperty(query, header, header, async (pairs, referrer, host) => {
        const response = await visit(`/?${pairs.map((pair) => pair.join("=")).join("&")}`, {
          Referer: referrer,
          "X-Forwarded-Host": host,
        });
        expect(response.status).toBe(200);
      }),
    );
    for (const click of await clicks()) expect(click.affiliateReference).toMatch(/^[\x21-\x7e]{1,256}$/);
  });

  it("lives with a host that has no address to it", async () => {
    const { visit, clicks } = await landing();
    expect((await visit("/?ref=ALICE", { Host: "a b<>" })).status).toBe(200);
    expect((await clicks())[0]).not.toHaveProperty("clickedUrl");
  });

  it("lets the request through when something in it throws", async () => {
    const { visit, clicks } = await landing({}, {}, (req, _res, next) => {
      req.accepts = (() => {
        throw new Error("boom");
      }) as Request["accepts"];
      next();
    });
    expect((await visit("/?ref=ALICE")).status).toBe(200);
    expect(await clicks()).toEqual([]);
  });

  it("refuses options that it does not know", async () => {
    const { url } = await startService();
    const tracker = startTracker({ baseUrl: url });
    expect(() => tracker.onClick({ parm: "via" } as object)).toThrow(OptionsError);
    expect(() => tracker.onClick({ domain: "shop.example; Path=/x" })).toThrow(
      "onClick: `domain` must be a domain",
    );
    expect(() => tracker.onClick({ parm: "via" } as object)).toThrow(
      "onClick: `parm` is not an option; did you mean `param`?",
    );
  });
});
