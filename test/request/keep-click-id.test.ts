import type { Request } from "express";
import { type Affiliate, type AffiliateOptions, OptionsError } from "express-affiliate";
import fc from "fast-check";
import request from "supertest";
import { describe, expect, it } from "vitest";
import { throwing } from "../helpers/conversions.js";
import { eachExpress, serve } from "../helpers/express.js";
import { forAnyAsync } from "../helpers/for-any.js";
import { cookiesOf, hello, sentBack, visitorOf } from "../helpers/landing.js";
import { trackerWithLines } from "../helpers/tracker.js";

const publicly = hello({ "Cache-Control": "public, max-age=60" });

describe.each(eachExpress)("keepClickId on $name", ({ express }) => {
  async function site(
    options: Parameters<Affiliate["keepClickId"]>[0] = {},
    trackerOptions: Partial<AffiliateOptions> = {},
  ) {
    const { tracker, lines } = trackerWithLines(trackerOptions);
    const app = express();
    app.use(tracker, tracker.keepClickId(options));
    app.all("/", publicly);
    const { server } = await serve(app);
    return { app, server, tracker, visit: visitorOf(server), lines };
  }

  it("sets the snippet's cookie again, for scripts to read, once for each click id", async () => {
    const { visit } = await site();
    const first = await visit("/", { Cookie: "svc_click_id=c1" });
    const age = "Max-Age=2592000; Path=/; Expires=[^;]+";
    expect(cookiesOf(first)).toEqual([
      expect.stringMatching(`^svc_click_id=c1; ${age}; SameSite=Lax$`),
      expect.stringMatching(`^svc_click_id_kept=[\\w-]{16}; ${age}; HttpOnly; SameSite=Lax$`),
    ]);
    expect(first.get("Cache-Control")).toBe("private, max-age=60");
    const again = await visit("/", { Cookie: sentBack(first) });
    expect([cookiesOf(again), again.get("Cache-Control")]).toEqual([[], "public, max-age=60"]);
    const another = await visit("/", { Cookie: sentBack(first).replace("=c1", "=c2") });
    expect(sentBack(another)).toMatch(/^svc_click_id=c2; svc_click_id_kept=/);
    expect(cookiesOf(await visit("/", { Cookie: sentBack(another) }))).toEqual([]);
  });

  it("uses the domain, the age and the name of its options, and `Secure` on https", async () => {
    const { app, visit } = await site({ domain: "shop.example", maxAgeMs: 60_000 }, { cookieName: "click" });
    app.set("trust proxy", true);
    const cookies = cookiesOf(await visit("/", { Cookie: "click=c1", "X-Forwarded-Proto": "https" }));
    expect(cookies.map((cookie) => cookie.split("=")[0])).toEqual(["click", "click_kept"]);
    for (const cookie of cookies) {
      expect(cookie).toMatch(/Max-Age=60; Domain=shop\.example; Path=\/; .*Secure; SameSite=Lax$/);
    }
  });

  it.each([
    ["without the cookie", {}],
    ["that no person opens", { "Sec-Fetch-Dest": "empty", "Sec-Fetch-Mode": "cors" }],
    ["for an image", { "Sec-Fetch-Dest": "image", "Sec-Fetch-Mode": "no-cors" }],
    ["for JSON", { Accept: "application/json" }],
    ["of a bot", { "User-Agent": "Mozilla/5.0 (compatible; Googlebot/2.1)" }],
    ["ahead of the visit", { "Sec-Purpose": "prefetch" }],
    ["without consent", { "X-Declined": "1" }],
    ["by POST", {}],
  ])("sets nothing in an answer to a request %s", async (what, headers) => {
    const consent = (req: Request) => req.get("x-declined") === undefined;
    const { server, visit } = await site({}, { consent });
    const Cookie = what === "without the cookie" ? "other=1" : "svc_click_id=c1";
    const posts = () => request(server).post("/").set({ Cookie, Accept: "text/html", "User-Agent": "x" });
    const response = what === "by POST" ? await posts() : await visit("/", { Cookie, ...headers });
    expect([response.status, cookiesOf(response)]).toEqual([200, []]);
    expect(response.get("Cache-Control")).toBe("public, max-age=60");
  });

  it("takes the id that it has kept if two come, as a subdomain may have set one, and says so once", async () => {
    const { app, visit, lines } = await site();
    app.get("/snapshot", (req, res) => void res.json(req.affiliate?.snapshot()));
    const kept = sentBack(await visit("/", { Cookie: "svc_click_id=c%2B1%3D" }));
    for (const Cookie of [`${kept}; svc_click_id=c2`, `svc_click_id=c2; ${kept}`, kept]) {
      expect(cookiesOf(await visit("/", { Cookie }))).toEqual([]);
      expect((await visit("/snapshot", { Cookie })).body).toEqual({ clickId: "c+1=" });
    }
    expect(lines).toEqual([
      "express-affiliate: a browser sent two cookies `svc_click_id`, and the one that `keepClickId` has set counts. If the snippet " +
        "sets its own for another domain, give `keepClickId` that `domain`: later clicks do not count until then",
    ]);
  });

  it("answers every cookie, and sets an id again as the browser sent it", async () => {
    const { visit } = await site();
    const name = fc.constantFrom("svc_click_id", "svc_click_id_kept", "svc_click_id_kep", "__proto__");
    const byte = fc.integer({ min: 0x20, max: 0xff }).filter((code) => code !== 0x7f);
    const value = fc.oneof(
      fc.string({ unit: byte.map((code) => String.fromCharCode(code)), maxLength: 40 }),
      fc.stringMatching(/^[\x21-\x7e]{1,20}$/),
      fc.constantFrom("%E0%A4%A", "%3D", 'j:{"a":1}', '"quoted"', ".", "..", "undefined", "x".repeat(300)),
    );
    await forAnyAsync(fc.array(fc.tuple(name, value), { maxLength: 5 }), async (all) => {
      const sent = all.map((pair) => pair.join("="));
      const response = await visit("/", { Cookie: sent.join("; ") });
      expect(response.status).toBe(200);
      const [click, kept] = sentBack(response).split("; ");
      if (!click) return;
      expect(click).toMatch(/^svc_click_id=(?!\.{1,2}$)[\x21-\x7e]{1,256}$/);
      expect(sent.flatMap((pair) => pair.split(";")).map((pair) => pair.trim())).toContain(click);
      expect(kept).toMatch(/^svc_click_id_kept=[\w-]{16}$/);
      expect(cookiesOf(await visit("/", { Cookie: `${click}; ${kept}` }))).toEqual([]);
    });
  });

  it("lets the request through when something in it throws, and says so", async () => {
    const { app, visit, lines } = await site();
    app.set("trust proxy", throwing("boom"));
    const response = await visit("/", { Cookie: "svc_click_id=c1", "X-Forwarded-Proto": "https" });
    expect([response.status, cookiesOf(response)]).toEqual([200, []]);
    expect(lines).toEqual(["express-affiliate: a click id was not kept: Error: boom"]);
  });

  it("refuses wrong options, and a tracker whose cookies are signed or prefixed", async () => {
    const { tracker } = await site();
    expect(() => tracker.keepClickId({ domian: "shop.example" } as object)).toThrow(
      "keepClickId: `domian` is not an option; did you mean `domain`?",
    );
    // 30 days, most likely. Browsers would delete a cookie that lasts for less than a second.
    for (const maxAgeMs of [0, 30, 999])
      expect(() => tracker.keepClickId({ maxAgeMs })).toThrow(OptionsError);
    expect(() => tracker.keepClickId({ maxAgeMs: 1_000 })).not.toThrow();
    for (const [option, value] of [
      ["signed", "a secret of 32 random characters"],
      ["cookiePrefix", "__Host-"],
    ] as const) {
      await expect(site({}, { [option]: value })).rejects.toThrow(
        `keepClickId: it keeps the browser snippet's cookie, which has neither signature nor prefix. Leave out either \`keepClickId\` or the option \`${option}\``,
      );
    }
    await expect(site({ domain: "shop.example" }, { cookieName: "__Host-click" })).rejects.toThrow(
      "keepClickId: `domain` must be left out",
    );
  });
});
