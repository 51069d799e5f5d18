import { static as serveStatic } from "express";
import { afterEach, describe, expect, it, vi } from "vitest";
import { eachExpress } from "../helpers/express.js";
import { cookiesOf, hello, visitorOf } from "../helpers/landing.js";
import { trackerWithService } from "../helpers/tracker.js";

const responds = hello();

// What the host must know in production, too.
describe.each(eachExpress)("a mistake in the set-up of clicks on $name", ({ express }) => {
  afterEach(() => void vi.unstubAllEnvs());

  async function shop(trackerOptions = {}) {
    vi.stubEnv("NODE_ENV", "production");
    const { tracker, posted, lines } = await trackerWithService(trackerOptions);
    const app = express();
    const visit = visitorOf(app);
    const warnings = () => lines.filter((line) => !/was skipped|wait in memory/.test(line));
    return { app, tracker, visit, warnings, posted };
  }

  it("is logged once: a page with a reference that no `onClick` saw, such as a static file", async () => {
    const { app, tracker, visit, warnings } = await shop();
    // It reads another parameter.
    app.use(tracker, tracker.onClick({ param: "aff" }), serveStatic("test/fixtures"), serveStatic("docs"));
    app.get("/", tracker.onClick(), responds);
    app.get("/pricing", responds);
    await visit("/?ref=ALICE");
    await visit("/README.md");
    expect(warnings()).toEqual([]);
    await visit("/README.md?ref=ALICE");
    await visit("/pricing?via=ALICE");
    await visit("/pricing?ref=ALICE");
    expect(warnings()).toEqual([
      "express-affiliate: a page was opened with an affiliate's reference (`?ref=`) and no `onClick` saw it, so it is no click: " +
        '"/README.md". Mount `app.use(tracker, tracker.onClick())` before routes and static files. If the browser snippet counts ' +
        "this page, all is well",
    ]);
  });

  it("is no request that is not for a page, answers with an error, or is sent on with its reference; nor any without `onClick`, as the browser snippet counts it", async () => {
    const { app, tracker, visit, warnings } = await shop();
    app.use(tracker);
    app.get("/api", responds);
    await visit("/api?ref=ALICE");
    app.get("/", tracker.onClick(), responds);
    app.get("/old", (req, res) => res.redirect(req.originalUrl.replace("/old", "/")));
    await visit("/old?ref=ALICE").redirects(1);
    await visit("/missing?ref=ALICE");
    await visit("/api?ref=ALICE", { Accept: "application/json" });
    await visit("/api?ref=ALICE", { "Sec-Fetch-Dest": "empty", "Sec-Fetch-Mode": "cors" });
    await visit("/api?ref=ALICE&ref=BOB");
    await visit("/api?xref=ALICE");
    expect(warnings()).toEqual([]);
    app.get("/members", (_req, res) => res.redirect("/login"));
    await visit("/members?ref=ALICE");
    expect(warnings()).toEqual([expect.stringContaining('"/members"')]);
  });

  it("is logged once: a domain that is not the page's", async () => {
    const { app, tracker, visit, warnings, posted } = await shop();
    app.use(tracker, tracker.onClick({ domain: "shop.example" }), responds);
    for (const Host of ["shop.example", "www.Shop.example", "a.b.shop.example:8080"])
      await visit("/?ref=ALICE", { Host });
    expect(warnings()).toEqual([]);
    for (const Host of ["notshop.example", "shop.example.evil.example", "localhost:3000"])
      await visit("/?ref=ALICE", { Host });
    expect(warnings()).toEqual([
      'express-affiliate: cookies are set for the domain "shop.example", and a page was opened at "notshop.example": browsers ' +
        "refuse them there. Check `domain`; behind a proxy, set Express' `trust proxy`",
    ]);
    await tracker.flush();
    expect(posted).toHaveLength(6);
  });

  it("is logged once: a proxy that Express does not trust, and is none that it trusts", async () => {
    const { app, tracker, visit, warnings } = await shop();
    app.use(tracker, tracker.onClick(), responds);
    app.set("trust proxy", true);
    await visit("/?ref=ALICE", { "X-Forwarded-Proto": "https" });
    app.set("trust proxy", false);
    await visit("/?ref=ALICE", { "X-Forwarded-Proto": "http" });
    expect(warnings()).toEqual([]);
    await visit("/?ref=ALICE", { "X-Forwarded-Proto": "https" });
    await visit("/?ref=ALICE", { "X-Forwarded-Proto": "https, http" });
    expect(warnings()).toEqual([
      "express-affiliate: a request says `X-Forwarded-Proto: https`, and Express does not trust it: its cookies are not `Secure`, " +
        "and `clickedUrl` begins with http:. Behind a proxy, set Express' `trust proxy`",
    ]);
  });

  it("is logged once: two trackers that set one cookie on one page, whichever parameter they read", async () => {
    const { app, tracker, visit, warnings } = await shop();
    const { tracker: other, warnings: othersWarnings } = await shop();
    app.use(tracker, tracker.onClick(), tracker.onClick({ param: "via" }));
    app.use(other, other.onClick({ param: "aff" }), responds);
    await visit("/");
    expect([...warnings(), ...othersWarnings()]).toEqual([]);
    await visit("/?ref=ALICE");
    await visit("/?aff=BOB");
    expect(warnings()).toEqual([]);
    expect(othersWarnings()).toEqual([
      "express-affiliate: two trackers' `onClick` set the cookie `svc_click_id` on one page, so that one of them loses its visitors. " +
        "Give one of them another `cookieName` and another `session`",
    ]);
  });

  it.each([
    [{ cookieName: "other" }, ["`svc_session_id`"]],
    [{ cookieName: "other", session: () => "s1" }, []],
    [{ cookieName: "other", session: "others" }, []],
  ])("of two trackers is told with the cookie that they share: %j", async (options, told) => {
    const { app, tracker, visit } = await shop();
    const { tracker: other, warnings } = await shop(options);
    app.use(tracker, other);
    app.get("/", tracker.onClick(), other.onClick(), responds);
    // One of them sees the reference: the other one has nothing to say.
    app.get("/one", tracker.onClick(), responds);
    expect(cookiesOf(await visit("/?ref=ALICE")).length).toBeGreaterThan(2);
    await visit("/one?ref=ALICE");
    expect(warnings()).toEqual(told.map((name) => expect.stringContaining(name)));
  });
});
