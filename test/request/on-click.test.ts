import { connect } from "node:net";
import { text } from "node:stream/consumers";
import type { Request } from "express";
import fc from "fast-check";
import request from "supertest";
import { describe, expect, it } from "vitest";
import { isReference } from "../../src/conversion/reference.js";
import { throwing } from "../helpers/conversions.js";
import { eachExpress } from "../helpers/express.js";
import { anyCharacter, times } from "../helpers/for-any.js";
import { cookieNamesOf, cookiesOf, FIREFOX, hello, sentBack, startLanding } from "../helpers/landing.js";
import { startTracker } from "../helpers/tracker.js";

/** Opens an address as it is written here: supertest would encode it anew. */
async function visitByHand(port: number, target: string, host = ""): Promise<void> {
  const socket = connect(port, "127.0.0.1");
  socket.end(`GET ${target} HTTP/1.0\r\n${host}Accept: text/html\r\nUser-Agent: ${FIREFOX}\r\n\r\n`);
  expect(await text(socket)).toMatch(/set-cookie: svc_click_id=/i);
}

describe.each(eachExpress)("onClick on $name", ({ express }) => {
  const landing = startLanding.bind(undefined, express);

  it("turns the reference into a click, with ids that the visitor takes along", async () => {
    const { visit, clicks } = await landing();
    const Referer = "https://user:pass@blog.example/post?token=secret#top";
    const path = "/?ref=ALICE&utm_source=newsletter&utm_medium=mail&utm_id=7&session=secret";
    const response = await visit(path, { Referer });
    const { clickId, sessionId } = response.body;
    expect(clickId).toMatch(/^[0-9a-z]+-[\w-]{16}-[\w-]{4}$/);
    expect(sessionId).toMatch(/^svc-[0-9a-f-]{36}$/);
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
    const age = "Max-Age=2592000; Path=/; Expires=[^;]+";
    expect(cookiesOf(response)).toEqual([
      expect.stringMatching(`^svc_click_id=${clickId}; ${age}; SameSite=Lax$`),
      expect.stringMatching(`^svc_session_id=${sessionId}; ${age}; HttpOnly; SameSite=Lax$`),
    ]);
    expect(response.get("Cache-Control")).toBe("private");
  });

  it("costs what a plain one costs, however long the query: what comes late in it is not read", async () => {
    const { visit, clicks } = await landing({}, {}, (req, _res, next) => {
      // Express 4 has parsed it by now, Express 5 would do it for any reader.
      Object.defineProperty(req, "query", { get: throwing("the query was parsed") });
      next();
    });
    const flood = Array.from({ length: 1_200 }, (_, nth) => `p${nth}=${nth}`).join("&");
    await visit(`/?ref=ALICE&${flood}&utm_source=late`);
    await visit(`/?${flood}&ref=BOB`);
    await visit(`/?utm_source=${"x".repeat(4_096)}&ref=CAROL`);
    await visit(`/?ref=DAVE&utm_content=${"x".repeat(4_096)}`);
    const all = await clicks();
    expect(all).toMatchObject([
      { affiliateReference: "ALICE", clickedUrl: "http://shop.example/?ref=ALICE" },
      { affiliateReference: "DAVE", clickedUrl: "http://shop.example/?ref=DAVE" },
    ]);
    expect(all[0]).not.toHaveProperty("source");
  });

  it.each<[string, string, Record<string, string>, string | undefined]>([
    ["a path with two slashes", "//evil.example/?ref=A", {}, "http://shop.example//evil.example/?ref=A"],
    ["credentials", "/?ref=A", { Host: "user:pass@shop.example" }, "http://shop.example/?ref=A"],
    ["a host that has no address", "/?ref=A", { Host: "a b<>" }, undefined],
    [
      "a proxy's name for this host, which begins with the visitor's",
      "/?ref=A",
      { Host: "shop.example.internal:8080", "X-Forwarded-Host": "shop.example" },
      "http://shop.example/?ref=A",
    ],
  ])("keeps to the address that the visitor sees, with %s", async (_, path, headers, clickedUrl) => {
    const { app, tracker, visit, clicks } = await landing();
    app.set("trust proxy", true);
    app.get(/./, tracker.onClick(), (_req, res) => void res.end());
    expect((await visit(path, headers)).status).toBe(200);
    expect((await clicks()).map((click) => click.clickedUrl)).toEqual([clickedUrl]);
  });

  it("ends the cookies that it set before it had a `domain`, which are older and would win", async () => {
    const { visit } = await landing({ domain: "shop.example" });
    const Cookie = "svc_click_id=c1; svc_session_id=s1";
    const ended = cookiesOf(await visit("/?ref=BOB", { Cookie })).filter((line) => /Max-Age=0;/.test(line));
    expect(ended).toEqual([
      expect.stringMatching(/^svc_click_id=;(?!.*Domain)/),
      expect.stringMatching(/^svc_session_id=;(?!.*Domain)/),
    ]);
    // There, a browser refuses cookies of that domain.
    const elsewhere = await visit("/?ref=BOB", { Cookie, Host: "shop.test" });
    expect(cookiesOf(elsewhere).join()).not.toContain("Max-Age=0;");
  });

  it.each([
    ["no-store", "no-store"],
    ["private, max-age=60", "private, max-age=60"],
    ["public, max-age=600, s-maxage=86400", "private, max-age=600"],
    ["PUBLIC", "private"],
    ['private="set-cookie, x", no-cache', "private, no-cache"],
    ["max-age=1, stale-while-revalidate=9", "private, max-age=1, stale-while-revalidate=9"],
  ])("is kept out of shared caches if the handler says %j to all, or to a CDN alone", async (said, kept) => {
    const { app, tracker, visit } = await landing();
    const forCdns = {
      "CDN-Cache-Control": "max-age=600",
      "Cloudflare-CDN-Cache-Control": "max-age=600",
      "Surrogate-Control": "max-age=600",
      "X-Accel-Expires": "600",
      "X-LiteSpeed-Cache-Control": "public,max-age=600",
    };
    app.get("/said", tracker.onClick(), hello({ "Cache-Control": said, ...forCdns, "X-Own": "1" }));
    const response = await visit("/said?ref=ALICE");
    expect([cookiesOf(response).length, response.get("Cache-Control")]).toEqual([2, kept]);
    expect(response.get("X-Own")).toBe("1");
    for (const name of Object.keys(forCdns)) expect(response.get(name)).toBeUndefined();
    const plain = await visit("/said");
    expect([plain.get("Cache-Control"), plain.get("X-Accel-Expires")]).toEqual([said, "600"]);
  });

  const opened = { "Sec-Fetch-Dest": "document", "Sec-Fetch-Mode": "navigate" };
  const bot = { "User-Agent": "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)" };
  const fetched = { "Sec-Fetch-Dest": "empty", "Sec-Fetch-Mode": "cors" };
  const image = { "Sec-Fetch-Dest": "image", "Sec-Fetch-Mode": "no-cors" };
  const consent = (req: Request) => !req.headers.cookie?.includes("declined");
  it.each([
    ["a bot", bot],
    ["curl", { "User-Agent": "curl/8.5.0", Accept: "*/*" }],
    ["an image", image],
    ["a visitor without consent", { Cookie: "declined=1" }],
  ])(
    "keeps the page for %s out of caches, too, but no other file, and no plain address",
    async (_, headers) => {
      const { app, tracker, visit } = await landing({}, { consent });
      const publicly = hello({ "Cache-Control": "public, max-age=600" });
      app.get("/public", tracker.onClick(), tracker.onClick({ param: "via" }), publicly);
      for (const query of ["?ref=ALICE", "?via=ALICE", "?ref=ALICE&via=BOB"]) {
        const response = await visit(`/public${query}`, headers);
        expect(response.get("Cache-Control")).toBe("private, max-age=600, no-cache");
        expect(cookiesOf(response)).toEqual([]);
      }
      expect((await visit("/public?page=2", headers)).get("Cache-Control")).toBe("public, max-age=600");
      app.get("/logo.svg", tracker.onClick(), (_req, res) => {
        res.set("Cache-Control", "public, max-age=600").type("svg").send("<svg/>");
      });
      const logo = await visit("/logo.svg?ref=header", headers);
      expect(logo.get("Cache-Control")).toBe("private, max-age=600");
    },
  );

  it("comes before what its page reports, though no head is written yet", async () => {
    const { app, tracker, visit, clicks } = await landing();
    app.get("/trial", tracker.onClick(), async (req, res) => {
      await req.affiliate?.trackRegistration({ email: "ada@shop.example" });
      res.end();
    });
    await visit("/trial?ref=ALICE");
    expect(await clicks()).toMatchObject([{ affiliateReference: "ALICE" }, { email: "ada@shop.example" }]);
  });

  it("keeps the responses to a reload, HEAD and POST out of shared caches, too, which are no clicks", async () => {
    const { app, server, tracker, visit, clicks } = await landing();
    app.get("/public", tracker.onClick(), hello({ "Cache-Control": "public" }));
    const first = await visit("/public?ref=ALICE");
    const again = await visit("/public?ref=ALICE", { Cookie: sentBack(first) });
    const head = await request(server).head("/public?ref=ALICE");
    const posted = await request(server)
      .post("/?ref=BOB")
      .set({ Accept: "text/html", "User-Agent": FIREFOX });
    for (const response of [first, again, head, posted])
      expect(response.get("Cache-Control")).toBe("private");
    expect([cookiesOf(head), cookiesOf(posted), (await clicks()).length]).toEqual([[], [], 1]);
  });

  it.each([{}, { session: "svc_session_id" }])(
    "sets both ids anew with each click, so that they end together and none was planted, with %j",
    async (options) => {
      const { visit, clicks } = await landing({}, options);
      const Cookie = "svc_session_id=planted; svc_click_id=planted-too";
      const response = await visit("/?ref=ALICE", { Cookie });
      expect(cookieNamesOf(response)).toEqual(["svc_click_id", "svc_session_id"]);
      const later = await visit("/?ref=BOB", { Cookie: sentBack(response) });
      expect(cookieNamesOf(later)).toEqual(["svc_click_id", "svc_session_id"]);
      const ids = [response.body, later.body].flatMap(({ clickId, sessionId }) => [clickId, sessionId]);
      expect(new Set([...ids, "planted", "planted-too"]).size).toBe(6);
      expect(await clicks()).toMatchObject([response.body, later.body]);
      // When the first click's cookies have ended, the later one's are all that a payment needs.
      expect((await visit("/", { Cookie: sentBack(later) })).body).toEqual(later.body);
    },
  );

  it.each([{}, { signed: "a secret of 16 bytes" }])(
    "leaves a cookie that `session` names to a host that sets it, with %j",
    async (options) => {
      const { visit, clicks } = await landing({}, { session: "sid", ...options });
      expect(cookieNamesOf(await visit("/?ref=ALICE", { Cookie: "sid=of-the-login" }))).toEqual([
        "svc_click_id",
      ]);
      const [click] = await clicks();
      // Of signed ids, only those that we have signed are read.
      expect(click?.sessionId).toBe("signed" in options ? undefined : "of-the-login");
    },
  );

  it("sets the session's cookie that `session` names, and none if `session` is a function", async () => {
    const named = await landing({}, { session: "sid" });
    expect(cookieNamesOf(await named.visit("/?ref=ALICE"))).toEqual(["svc_click_id", "sid"]);
    const again = await named.visit("/?ref=BOB", { Cookie: "sid=svc-1" });
    expect(cookieNamesOf(again)).toEqual(["svc_click_id", "sid"]);
    const ids = ["own", undefined];
    const own = await landing({}, { session: (req) => ids[Number(req.query.nth)] });
    for (const nth of [0, 1])
      expect(cookieNamesOf(await own.visit(`/?ref=A${nth}&nth=${nth}`))).toEqual(["svc_click_id"]);
    expect((await own.clicks()).map(({ sessionId }) => sessionId)).toEqual(ids);
  });

  it("has the session id that `session` finds only below `onClick`", async () => {
    const options = { session: (req: Request) => req.res?.get("X-Visitor") };
    const { app, tracker, visit, clicks } = await landing({}, options);
    app.get("/below", tracker.onClick(), hello({ "X-Visitor": "v-1" }));
    await visit("/below?ref=ALICE");
    expect(await clicks()).toMatchObject([{ sessionId: "v-1" }]);
  });

  it("sets cookies that no script reads with `signed`, and that no subdomain can set with `cookiePrefix`", async () => {
    const options = { signed: "a secret of 32 random characters", cookiePrefix: "__Host-" } as const;
    const { app, tracker, visit, lines } = await landing({}, options);
    app.set("trust proxy", true);
    const response = await visit("/?ref=ALICE", { "X-Forwarded-Proto": "https" });
    expect(cookieNamesOf(response)).toEqual(["__Host-svc_click_id", "__Host-svc_session_id"]);
    for (const cookie of cookiesOf(response)) {
      expect(cookie).toMatch(/; Path=\/; .*HttpOnly; Secure; SameSite=Lax$/);
      expect(cookie).not.toMatch(/Domain/);
    }
    const again = await visit("/?ref=ALICE", { Cookie: sentBack(response) });
    expect([again.body, cookiesOf(again)]).toEqual([response.body, []]);
    expect((await visit("/", { Cookie: sentBack(response).replaceAll("__Host-", "") })).body).toEqual({});

    expect(() => tracker.onClick({ domain: ".shop.example" })).toThrow(
      "onClick: `domain` must be left out: browsers refuse a cookie `__Host-svc_click_id` with a domain",
    );
    for (const option of ["cookieName", "session"]) {
      const named = (await landing({}, { [option]: "__Host-own" })).tracker;
      expect(() => named.onClick({ domain: "shop.example" })).toThrow("refuse a cookie `__Host-own`");
    }
    expect(lines).toEqual([]);
  });

  it("sets a cookie whose name needs https as `Secure`, over plain http, too", async () => {
    const { visit } = await landing({}, { cookieName: "__Secure-click" });
    expect(cookiesOf(await visit("/?ref=ALICE"))[0]).toMatch(/^__Secure-click=.*; Secure/);
  });

  it("reports the same visitor and reference once an hour, and another reference at once", async () => {
    const { visit, clicks } = await landing();
    const first = await visit("/?ref=ALICE");
    const cookie = sentBack(first);

    const again = await visit("/?ref=ALICE", { Cookie: cookie });
    expect(cookiesOf(again)).toEqual([]);
    expect(again.body).toEqual(first.body);
    expect(await clicks()).toHaveLength(1);

    const another = await visit("/?ref=BOB", { Cookie: cookie });
    expect(await clicks()).toHaveLength(2);
    expect(cookiesOf(await visit("/?ref=ALICE", { Cookie: sentBack(first, another) }))).toEqual([]);
  });

  it("keeps the first click, if its options say so", async () => {
    const { visit, clicks, tracker } = await landing({ attribution: "first" });
    const cookie = sentBack(await visit("/?ref=ALICE"));
    const later = await visit("/?ref=BOB", { Cookie: cookie });
    const ahead = await visit("/?ref=BOB", { Cookie: cookie, "Sec-Purpose": "prefetch" });
    for (const { status, headers, body } of [later, ahead]) {
      expect([status, headers["set-cookie"], headers["cache-control"]]).toEqual([200, undefined, "private"]);
      expect(cookie).toContain(body.clickId);
    }
    await visit("/?ref=BOB", { Cookie: "svc_session_id=s1" });
    expect((await clicks()).map(({ affiliateReference }) => affiliateReference)).toEqual(["ALICE", "BOB"]);
    expect(tracker.stats().skipped.prefetch).toBe(0);
  });

  it("keeps the first click whatever else is in its cookie, and lets no rubbish there take its place", async () => {
    const { visit, clicks } = await landing({ attribution: "first" });
    const first = await visit("/?ref=ALICE");
    const rubbish = fc.oneof(
      fc.stringMatching(/^[\x20-\x3a\x3c-\x7e]{0,40}$/),
      fc.constantFrom("x", "..", "undefined", "%E0%A4%A", 'j:{"a":1}'),
    );
    await times(50).forAnyAsync(rubbish, fc.boolean(), async (text, isBefore) => {
      const both = [`svc_click_id=${text}`, sentBack(first)];
      const kept = await visit("/?ref=BOB", { Cookie: (isBefore ? both : both.reverse()).join("; ") });
      expect([kept.body, cookiesOf(kept)]).toEqual([first.body, []]);
      expect(cookiesOf(await visit("/?ref=BOB", { Cookie: `svc_click_id=${text}` }))).toHaveLength(2);
    });
    expect((await clicks()).filter(({ affiliateReference }) => affiliateReference === "ALICE")).toHaveLength(
      1,
    );
  });

  it.each([
    ["MÜLLER", "M%C3%9CLLER"],
    ["BLACK FRIDAY", "BLACK+FRIDAY"],
    ["BLACK FRIDAY", "BLACK%20FRIDAY"],
    ["می\u200cخواهم", encodeURIComponent("می\u200cخواهم")],
    ["👩\u200d🚀", encodeURIComponent("👩\u200d🚀")],
    ["ALICE", "ALICE&ref=ALICE"],
    ["ア".repeat(256), encodeURIComponent("ア".repeat(256))],
  ])("sends the reference %s as it came, of ?ref=%s", async (affiliateReference, written) => {
    const { port, clicks } = await landing();
    await visitByHand(port, `/?ref=${written}`, "Host: shop.example\r\n");
    const all = await clicks();
    expect(all).toMatchObject([{ affiliateReference }]);
    const { searchParams } = new URL(all[0]?.clickedUrl ?? "");
    if (affiliateReference.length < 256) expect([...searchParams]).toEqual([["ref", affiliateReference]]);
  });

  it("says once, outside production, that a reference is none", async () => {
    const { visit, lines } = await landing();
    for (const query of ["ref=M%FCLLER", "ref=A%00B", "via=A%20"]) await visit(`/?${query}`);
    expect(lines).toEqual([
      "express-affiliate: a page was opened with `?ref=`, and it is no click: the reference must be a text of 1 to 256 characters, " +
        'without invisible ones, and without white space at its ends or doubled, got "M\\ufffdLLER" (string) ' +
        "(said once, and not in production)",
    ]);
    const two = await landing();
    await two.visit("/?ref=ALICE&ref=BOB");
    expect(two.lines).toEqual([
      expect.stringContaining('must have one value, got "ALICE" (string) and "BOB" (string)'),
    ]);
  });

  it.each<[string, string, Record<string, string>, number?]>([
    ["no reference", "/", {}],
    ["two references", "/?ref=ALICE&ref=BOB", {}],
    ["an object for a reference", "/?ref[a]=ALICE", {}],
    ["a reference in no encoding of Unicode", "/?ref=M%FCLLER", {}],
    ["a request for JSON", "/?ref=ALICE", { Accept: "application/json" }],
    ["a request for anything", "/?ref=ALICE", { Accept: "*/*" }],
    ["a request by no browser", "/?ref=ALICE", { "User-Agent": "" }],
    ["an image", "/?ref=ALICE", image],
    ["an iframe", "/?ref=ALICE", { "Sec-Fetch-Dest": "iframe", "Sec-Fetch-Mode": "navigate" }],
    ["a fetch", "/?ref=ALICE", fetched],
    ["half a navigation", "/?ref=ALICE", { "Sec-Fetch-Mode": "navigate" }],
    ["a request that only says where it is from", "/?ref=ALICE", { "Sec-Fetch-Site": "cross-site" }],
    ["a search engine's visit", "/?ref=ALICE", bot, 1],
    ["curl's visit", "/?ref=ALICE", { "User-Agent": "curl/8.5.0" }, 1],
  ])("sees no click in %s", async (_, path, headers, bots = 0) => {
    const { visit, clicks, tracker } = await landing();
    expect(cookiesOf(await visit(path, headers))).toEqual([]);
    expect(await clicks()).toEqual([]);
    expect(tracker.stats().skipped).toMatchObject({ prefetch: 0, bot: bots });
  });

  it.each([
    ["that the browser says a person opens", opened],
    ["that a service worker fetches", { ...opened, "Sec-Fetch-Dest": "empty", Accept: "*/*" }],
  ])("sees a click in a page %s", async (_, headers) => {
    const { visit, clicks } = await landing();
    expect(cookiesOf(await visit("/?ref=ALICE", headers))).toHaveLength(2);
    expect(await clicks()).toHaveLength(1);
  });

  it.each([
    ["a prefetch", { ...opened, "Sec-Purpose": "prefetch" }],
    ["a prefetch through a proxy", { ...opened, "Sec-Purpose": "prefetch;anonymous-client-ip" }],
    ["a prerender", { ...opened, "Sec-Purpose": "prefetch;prerender" }],
    ["a link's prefetch", { "Sec-Fetch-Mode": "no-cors", "Sec-Purpose": "prefetch" }],
    ["a link's prefetch with `crossorigin`", { "Sec-Fetch-Mode": "cors", "Sec-Purpose": "prefetch" }],
    ["Purpose", { Purpose: "prefetch" }],
    ["older versions of Firefox", { "X-Moz": "prefetch" }],
    ["Facebook's app", { "X-Purpose": "preview" }],
  ])("refuses the page to %s, so that the browser asks again when it is opened", async (_, headers) => {
    const { visit, clicks, tracker } = await landing();
    const ahead = await visit("/?ref=ALICE", headers);
    expect([ahead.status, ahead.get("Cache-Control"), cookiesOf(ahead)]).toEqual([503, "no-store", []]);
    expect(tracker.stats().skipped.prefetch).toBe(1);
    expect(cookiesOf(await visit("/?ref=ALICE"))).toHaveLength(2);
    expect(await clicks()).toHaveLength(1);
  });

  it("refuses no prefetch that would be no click when it is opened", async () => {
    const { server, tracker, visit, clicks } = await landing({}, { consent });
    const ahead = { ...opened, "Sec-Purpose": "prefetch" };
    const cookie = sentBack(await visit("/?ref=ALICE"));
    const passed = [
      await visit("/", ahead),
      await visit("/?ref=ALICE&ref=BOB", ahead),
      await visit("/?ref=ALICE", { ...ahead, Cookie: cookie }),
      await visit("/?ref=ALICE", { ...ahead, Cookie: "declined=1" }),
      await visit("/?ref=ALICE", { ...ahead, ...bot }),
      // A script fetches, such as the router of Next.js.
      await visit("/?ref=ALICE", { ...fetched, Purpose: "prefetch" }),
      await request(server).post("/?ref=ALICE").set(ahead),
    ];
    for (const response of passed) expect([response.status, cookiesOf(response)]).toEqual([200, []]);
    expect(tracker.stats().skipped.prefetch).toBe(0);
    expect(await clicks()).toHaveLength(1);
  });

  it("asks the host whether a bot comes", async () => {
    const isBot = (req: Request) => !req.get("user-agent")?.includes("Instagram");
    const { visit, clicks, tracker } = await landing({}, { isBot });
    const instagram = "Mozilla/5.0 (iPhone) Instagram 300.0 (crawler-like in-app browser bot)";
    for (const headers of [{ "User-Agent": instagram }, {}]) await visit("/?ref=ALICE", headers);
    expect([(await clicks()).length, tracker.stats().skipped.bot]).toEqual([1, 1]);
  });

  it.each<[string, (req: Request) => unknown, string?]>([
    ["returns nothing", () => undefined],
    ["returns a text", () => "no"],
    ["throws", throwing("boom"), "`isBot` threw, so the User-Agent decides: Error: boom"],
    ["returns a promise", async () => true, "`isBot` returned a promise, so the User-Agent decides."],
  ])("takes the User-Agent's word if `isBot` %s, and says a mistake once", async (_, isBot, line) => {
    const { visit, clicks, tracker, lines } = await landing({}, { isBot: isBot as () => boolean });
    for (const reference of ["ALICE", "BOB"]) await visit(`/?ref=${reference}`);
    await visit("/?ref=ALICE", bot);
    expect(await clicks()).toHaveLength(2);
    expect(tracker.stats().skipped.bot).toBe(1);
    const expected = line === undefined ? [] : [expect.stringContaining(line)];
    expect(lines.filter((said) => said.includes("`isBot`"))).toEqual(expected);
  });

  it("answers every query and header, sets cookies if and only if it reports a click, and lets no shared cache keep the answer", async () => {
    const { app, visit, clicks } = await landing({ param: "r" });
    app.set("trust proxy", true);
    const names = ["r", "r[]", "r[a]", "__proto__", "r[__proto__]", "utm_source", "utm_source[x]"];
    const name = fc.constantFrom(...names);
    const value = fc.oneof(fc.string({ unit: anyCharacter }), fc.stringMatching(/^[\x21-\x7e]{1,9}$/));
    const query = fc
      .array(fc.tuple(name, value.map(encodeURIComponent)), { maxLength: 4 })
      .map((pairs) => pairs.map((pair) => pair.join("=")).join("&"));
    const ownClickId = "svc_click_id=mf0x1k2a-Zm9vYmFyYmF6cXV4-3q2-A1b2c";
    const usual = <T>(value: T) => ({ weight: 6, arbitrary: fc.constant(value) });
    const one = (first: string | undefined, ...values: (string | undefined)[]) =>
      // A text is of printable ASCII.
      fc.oneof(usual(first), fc.constantFrom(...values, undefined), fc.string({ maxLength: 20 }));
    const headers = fc.record({
      "Sec-Fetch-Dest": one("document", "empty", "image"),
      "Sec-Fetch-Mode": one("navigate", "no-cors"),
      "Sec-Purpose": one(undefined, "prefetch", "prefetch;prerender"),
      "X-Purpose": one(undefined, "preview"),
      Accept: one("text/html", "*/*"),
      "User-Agent": one(FIREFOX, "curl/8.5.0"),
      Referer: one(undefined),
      "X-Forwarded-Proto": one("https", "javascript", "http, https"),
      "X-Forwarded-Host": one("shop.example", "evil.example:x"),
      Cookie: one(undefined, "svc_click_id=c1", ownClickId, "svc_session_id=.."),
    });
    // One click for certain, so that the comparison below is never of nothing.
    await visit("/?r=ALICE");
    let withCookies = 1;
    await times(200).forAnyAsync(fc.oneof(fc.constant("r=ALICE"), query), headers, async (asked, given) => {
      const sent = Object.entries(given).filter(([, value]) => value !== undefined);
      const response = await visit(`/?${asked}`, Object.fromEntries(sent) as Record<string, string>);
      const isCounted = cookiesOf(response).length > 0;
      if (isCounted) withCookies++;
      const kept = isCounted || asked === "r=ALICE" ? "private" : response.get("Cache-Control");
      expect([response.status, response.get("Cache-Control")]).toEqual(
        response.status === 503 ? [503, "no-store"] : [200, kept],
      );
    });
    const all = await clicks();
    expect(all).toHaveLength(withCookies);
    for (const { affiliateReference, clickedUrl = "http:" } of all) {
      expect(isReference(affiliateReference)).toBe(true);
      expect(clickedUrl).toMatch(/^https?:/);
    }
  });

  it("reports the click of a request without Host, as HTTP/1.0 allows", async () => {
    const { port, clicks } = await landing();
    await visitByHand(port, "/?ref=ALICE");
    const all = await clicks();
    expect(all).toMatchObject([{ affiliateReference: "ALICE" }]);
    expect(all[0]).not.toHaveProperty("clickedUrl");
  });

  it("sets no cookie if the click cannot be read, so that the next visit counts", async () => {
    let isBroken = true;
    const { visit, clicks } = await landing({}, {}, (req, _res, next) => {
      const { get } = req;
      req.get = ((name: string) => {
        if (isBroken && name === "referrer") throw new Error("boom");
        return get.call(req, name);
      }) as Request["get"];
      next();
    });
    const first = await visit("/?ref=ALICE");
    expect([first.status, first.body, cookiesOf(first)]).toEqual([200, {}, []]);
    isBroken = false;
    expect(cookiesOf(await visit("/?ref=ALICE"))).toHaveLength(2);
    expect(await clicks()).toHaveLength(1);
  });

  it("refuses options that it does not know", () => {
    const tracker = startTracker();
    expect(() => tracker.onClick({ attribution: "middle" } as object)).toThrow(
      'onClick: `attribution` must be "last" or "first", got "middle" (string)',
    );
    expect(() => tracker.onClick({ domain: "shop.example; Path=/x" })).toThrow(
      "onClick: `domain` must be a domain",
    );
    expect(() => tracker.onClick({ parm: "via" } as object)).toThrow(
      "onClick: `parm` is not an option; did you mean `param`?",
    );
  });
});
