import express, { type ErrorRequestHandler, type RequestHandler } from "express";
import type { DashboardOptions } from "express-affiliate/dashboard";
import fc from "fast-check";
import request from "supertest";
import { describe, expect, it } from "vitest";
import { throwing } from "../helpers/conversions.js";
import { eachExpress } from "../helpers/express.js";
import { anyCharacter, times } from "../helpers/for-any.js";
import { API_KEY } from "../helpers/tracker.js";
import { appWith, listen, PATH, payInVain, refusedTracker } from "./helpers.js";

const ADDRESS = "ada.lovelace+42@shop.example";
const names = ["", "state", "dead-letters", "main.js", "style.css"];
const paths = ["", ...[...names, "retry", "discard", "x"].map((name) => `/${name}`)];

/** A tracker with one dead letter. */
const trackerWithDead = async () => payInVain(await refusedTracker("no"), ADDRESS);

describe.each(eachExpress)("a stranger on $name", ({ express }) => {
  it.each<[string, DashboardOptions["authorize"]]>([
    ["is refused", () => false],
    ["gets undefined", () => undefined],
    ["is refused later", async () => false],
    ["gets something that is not true", () => "yes" as never],
    ["gets a function", () => (() => true) as never],
    ["gets a user of the host", () => ({ id: 1, name: "Ada" }) as never],
    ["gets a name that is empty", () => ({ by: "" })],
    ["gets a name that is none", () => ({ by: true }) as never],
    ["makes authorize throw", throwing("of the host")],
    ["makes authorize reject", async () => Promise.reject(new Error("of the host"))],
  ])("who %s learns nothing, by any path and method", async (_, authorize) => {
    const tracker = await trackerWithDead();
    const app = appWith(tracker, { express, authorize });
    const errorPage: ErrorRequestHandler = (_error, _req, res, _next) => void res.status(500).send("leaked");
    app.use(errorPage);
    for (const path of paths) {
      for (const method of ["get", "post", "put", "delete", "options"] as const) {
        const answer = await request(app)[method](PATH + path);
        expect([answer.status, answer.text], `${method} ${path}`).toEqual([403, "Forbidden"]);
        expect(answer.get("set-cookie")).toBeUndefined();
      }
    }
    expect(tracker.stats().dead.rejected).toBe(1);
  });
});

describe("another site's page, in an operator's browser", () => {
  it.each<[string, Record<string, string>]>([
    ["from another site", { "Sec-Fetch-Site": "cross-site", Origin: "https://evil.example" }],
    ["from a sister site", { "Sec-Fetch-Site": "same-site", Origin: "https://blog.shop.example" }],
    ["from an old browser on another site", { Origin: "https://evil.example" }],
    ["from a sandboxed frame", { Origin: "null" }],
    [
      "from plain http, which anyone on the way can write, to a page on https",
      { Origin: "http://shop.example", Host: "shop.example", "X-Forwarded-Proto": "https" },
    ],
    ["from an origin that is none", { Origin: "127.0.0.1" }],
    ["from another port", { Origin: "http://shop.example:8080", Host: "shop.example" }],
    ["from a name a proxy is told", { Origin: "http://evil.example", "X-Forwarded-Host": "evil.example" }],
    ["from two sites", { "Sec-Fetch-Site": "same-origin, cross-site" }],
    ["from the address bar", { "Sec-Fetch-Site": "none" }],
    ["from a page that says nothing", {}],
  ])("cannot act %s", async (_, headers) => {
    const tracker = await trackerWithDead();
    const app = appWith(tracker);
    const [letter] = await tracker.deadLetters.list();
    const act = (path: string, sent: Record<string, string>) =>
      request(app).post(`${PATH}/${path}`).query({ id: letter?.id }).set(sent);
    for (const path of ["retry", "discard"]) await act(path, headers).expect(403);
    expect(await tracker.deadLetters.list()).toHaveLength(1);
    await act("discard", { "Sec-Fetch-Site": "same-origin" }).expect(200);
  });

  it("is not an old browser on the page itself, over http or https, however the proxy is set", async () => {
    for (const [scheme, trusted, host] of [
      ["http", false, "shop.example"],
      ["http", false, "Shop.Example:80"],
      ["https", false, "shop.example"],
      ["https", true, "shop.example:443"],
    ] as const) {
      const tracker = await trackerWithDead();
      const app = appWith(tracker).set("trust proxy", trusted);
      const [letter] = await tracker.deadLetters.list();
      await request(app)
        .post(`${PATH}/discard`)
        .query({ id: letter?.id })
        .set({ Host: host, Origin: `${scheme}://shop.example`, "X-Forwarded-Proto": scheme })
        .expect(200);
    }
  });

  it("cannot read, even if the host allows other sites to read its own answers", async () => {
    const generous: RequestHandler = (req, res, next) => {
      res.set("Access-Control-Allow-Origin", req.get("origin") ?? "*");
      res.set("Access-Control-Allow-Credentials", "true");
      next();
    };
    const app = appWith(await trackerWithDead(), { before: [generous] });
    for (const path of ["state", "dead-letters"]) {
      const answer = await request(app).get(`${PATH}/${path}`).set("Origin", "https://evil.example");
      expect(answer.get("access-control-allow-origin")).toBeUndefined();
      expect(answer.get("access-control-allow-credentials")).toBeUndefined();
      await request(app).get(`${PATH}/${path}`).set("Sec-Fetch-Site", "cross-site").expect(403);
    }
    // A link in a chat may lead to the page.
    await request(app).get(`${PATH}/`).set("Sec-Fetch-Site", "cross-site").expect(200);
  });

  it("cannot put the page into a frame, nor anything into the page", async () => {
    const app = appWith(await trackerWithDead());
    for (const path of ["/", "/state", "/main.js", "/nothing"]) {
      const { headers } = await request(app).get(PATH + path);
      expect(headers).toMatchObject({
        "x-frame-options": "DENY",
        "x-content-type-options": "nosniff",
        "cache-control": "no-store",
        "referrer-policy": "no-referrer",
        "cross-origin-opener-policy": "same-origin",
        "cross-origin-resource-policy": "same-origin",
      });
      const policy = headers["content-security-policy"]?.split("; ");
      for (const own of ["script", "style", "connect"]) expect(policy).toContain(`${own}-src 'self'`);
      for (const none of ["default-src", "form-action", "frame-ancestors", "base-uri"])
        expect(policy).toContain(`${none} 'none'`);
      expect(policy?.join()).not.toMatch(/unsafe|https?:|\*/);
    }
    const { text } = await request(app).get(`${PATH}/`);
    expect(text).not.toMatch(/<script(?![^>]*\bsrc=)|<style|\son\w+=|\sstyle=/);
  });
});

describe("what was sent by strangers", () => {
  it("shows neither key, address nor session id in any answer, however the service spells them", async () => {
    const encoded = [ADDRESS, API_KEY].map(encodeURIComponent).join();
    const words = `${ADDRESS}, ${API_KEY}, ${encoded} and ${encoded.toLowerCase()} unknown in a-login-session`;
    const tracker = await refusedTracker(words);
    // Before it happens, so that it is among the last failures too.
    const app = appWith(tracker);
    await payInVain(tracker, ADDRESS);
    const answers = await Promise.all(paths.map((path) => request(app).get(PATH + path)));
    const all = answers.map(({ text, headers }) => text + JSON.stringify(headers)).join("\n");
    expect(all).toContain("a***@shop.example");
    expect(all.match(/unknown in/g)?.length).toBeGreaterThanOrEqual(2);
    expect(all.toLowerCase()).not.toContain("lovelace");
    for (const secret of [API_KEY, "a-login-session"]) expect(all).not.toContain(secret);
  });

  it("is masked if the host's own id is an address", async () => {
    const tracker = await refusedTracker("no");
    const payment = { paymentId: ADDRESS, customerEmail: ADDRESS, leadValue: 1 };
    await tracker.trackPayment(payment, { sessionId: "s1" });
    const registration = { email: ADDRESS, customerId: ADDRESS, customerName: "Ada" };
    await tracker.trackRegistration(registration, { clickId: "c" });
    await expect.poll(() => tracker.stats().dead.rejected).toBe(2);
    const { text } = await request(appWith(tracker)).get(`${PATH}/dead-letters`);
    expect(text).not.toContain("lovelace");
    expect(text).not.toContain("Ada");
  });
});

const text = fc.string({ unit: anyCharacter, maxLength: 200 });

it("whatever a stranger sends as a query, a path or a header is answered without an error of the server's, and harms nothing", async () => {
  const url = (await listen(express().use(appWith(await trackerWithDead())))) + PATH;
  const header = fc.string({ maxLength: 80 }).filter((each) => /^[\x20-\x7e]*$/.test(each));
  const names = fc.constantFrom("kind", "reason", "count", "__proto__", "id", "unconfirmed");
  const site = fc.oneof(fc.constant("same-origin"), header);
  await times(600).forAnyAsync(
    fc.constantFrom("state", "dead-letters", "", "nothing", "POST retry", "POST discard"),
    fc.dictionary(names, text),
    fc.record({ cookie: header, origin: header, "sec-fetch-site": site }),
    async (place, query, headers) => {
      const [path, method = "GET"] = place.split(" ").reverse();
      const answer = await fetch(`${url}/${path}?${new URLSearchParams(query)}`, { headers, method });
      expect([200, 400, 403, 404, 409]).toContain(answer.status);
      await answer.arrayBuffer();
    },
  );
  expect((await fetch(`${url}/state`)).status).toBe(200);
});
