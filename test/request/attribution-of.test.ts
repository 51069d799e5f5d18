import { hash } from "node:crypto";
import { createServer, type IncomingMessage, type RequestListener } from "node:http";
import express from "express";
import type { AffiliateOptions, Attribution, RequestSource } from "express-affiliate";
import session from "express-session";
import fc from "fast-check";
import request from "supertest";
import { describe, expect, it } from "vitest";
import { forAny } from "../helpers/for-any.js";
import { startTracker, trackerWithLines } from "../helpers/tracker.js";

const cookie = "svc_click_id=c1; svc_session_id=s1; consent=all";
const ids = { clickId: "c1", sessionId: "s1" };

/** What a Node server's own handler makes of a request. */
async function nodeRequest(handle: (req: IncomingMessage) => unknown, listener?: RequestListener) {
  let found: unknown;
  const server = createServer((req, res) => {
    const answer = () => {
      found = handle(req);
      res.end();
    };
    if (listener) (listener as (...args: unknown[]) => void)(req, res, answer);
    else answer();
  });
  await request(server).get("/").set("Cookie", cookie);
  return found;
}

describe("attributionOf", () => {
  const sources: Record<string, (read: (source: RequestSource) => Attribution) => unknown> = {
    "Headers of the Fetch standard": (read) => read(new Headers({ cookie })),
    "a Request of the Fetch standard": (read) =>
      read(new Request("http://shop.example/", { headers: { cookie } })),
    "a request of Node": (read) => nodeRequest(read),
    "what a framework hands on of Node's headers": (read) => read({ headers: { cookie } }),
    "headers with the names as the client wrote them": (read) => read({ headers: { Cookie: cookie } }),
    "an event of AWS Lambda, which has its cookies beside its headers": (read) =>
      read({ headers: { host: "shop.example" }, cookies: cookie.split("; ") } as RequestSource),
    "what a framework hands on of the Fetch standard's": (read) => read({ headers: new Headers({ cookie }) }),
    "a request of Express without the middleware": async (read) => {
      const app = express().get("/", (req, res) => void res.json(read(req)));
      return (await request(app).get("/").set("Cookie", cookie)).body;
    },
  };

  it.each(Object.keys(sources))("reads %s, if `consent` agrees", async (name) => {
    const asked: unknown[] = [];
    const consent: AffiliateOptions["consent"] = (req) => {
      asked.push(req.get("cookie"));
      return req.cookies?.consent === "some";
    };
    expect(await sources[name]?.(startTracker({ consent }).attributionOf)).toEqual({});
    expect(asked).toEqual([cookie]);
    const agreed = startTracker({ consent: (req) => /consent=all/.test(req.get("Cookie") ?? "") });
    for (const tracker of [startTracker(), agreed])
      expect(await sources[name]?.(tracker.attributionOf)).toEqual(ids);
  });

  it("honours `cookieName` and `session`", () => {
    const headers = new Headers({ cookie: "mine=c2; sid=s2", "x-visitor": "v2" });
    const named = startTracker({ cookieName: "mine", session: "sid" });
    expect(named.attributionOf(headers)).toEqual({ clickId: "c2", sessionId: "s2" });
    const own = startTracker({ session: (req) => req.get("x-visitor") });
    expect(own.attributionOf(headers)).toEqual({ sessionId: "v2" });
  });

  it("reads the express-session of a Node request", async () => {
    const named = { name: "svc_session_id", genid: () => "s1" };
    const sessions = session({ secret: "s", resave: false, saveUninitialized: false, ...named });
    const tracker = startTracker({ session: (req) => hash("sha256", req.sessionID) });
    const found = await nodeRequest(tracker.attributionOf, sessions as unknown as RequestListener);
    expect(found).toEqual({ clickId: "c1", sessionId: hash("sha256", "s1") });
  });

  it("gives what the middleware took at entry, as does `req.affiliate` as JSON", async () => {
    const tracker = startTracker();
    const app = express().use(tracker);
    app.get("/", (req, res) => {
      const before = req.affiliate?.snapshot();
      req.headers.cookie = "svc_click_id=other";
      res.json([before, tracker.attributionOf(req), req.affiliate]);
    });
    expect((await request(app).get("/").set("Cookie", cookie)).body).toEqual([ids, ids, ids]);
  });

  it("warns of what is no request, and never throws", () => {
    const { tracker, lines } = trackerWithLines();
    expect(tracker.attributionOf(undefined as never)).toEqual({});
    expect(lines).toEqual([
      "express-affiliate: `attributionOf` wants a request or its headers, got undefined",
    ]);
    const sources = fc.record({
      headers: fc.oneof(fc.anything(), fc.record({ cookie: fc.anything() })),
      cookies: fc.oneof(fc.anything(), fc.array(fc.anything())),
      get: fc.anything(),
    });
    forAny(fc.oneof(fc.anything(), sources), (source) => {
      for (const id of Object.values(tracker.attributionOf(source as never)))
        expect(id).toMatch(/^[\x21-\x7e]{1,256}$/);
    });
  });
});
