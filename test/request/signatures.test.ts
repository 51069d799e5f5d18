import express from "express";
import fc from "fast-check";
import request from "supertest";
import { describe, expect, it } from "vitest";
import type { AffiliateOptions } from "../../src/index.js";
import { createSignatures } from "../../src/request/signatures.js";
import { Secret } from "../../src/shared/secret.js";
import { browser } from "../helpers/docs/shop.js";
import { startService } from "../helpers/service.js";
import { startTracker } from "../helpers/tracker.js";

const signaturesOf = (...secrets: string[]) => createSignatures(secrets.map((each) => new Secret(each)));

describe("signatures", () => {
  const signatures = signaturesOf("new", "old");

  it("are known again, of every secret, and for the cookie's name alone", () => {
    const signed = signatures.sign("svc_click_id", "c1");
    expect(signed).toMatch(/^c1\.[\w-]{43}$/);
    expect(signatures.verified("svc_click_id", signed)).toBe("c1");
    expect(signatures.verified("svc_session_id", signed)).toBeUndefined();
    expect(signatures.verified("svc_click_id", signaturesOf("old").sign("svc_click_id", "c1"))).toBe("c1");
    expect(signaturesOf("old").verified("svc_click_id", signed)).toBeUndefined();
  });

  it("are not known once anything in them is changed", () => {
    fc.assert(
      fc.property(
        fc.string({ minLength: 1 }),
        fc.nat(),
        fc.string({ minLength: 1, maxLength: 1 }),
        (id, at, other) => {
          const signed = signatures.sign("c", id);
          const place = at % (id.length + 1);
          const forged = signed.slice(0, place) + other + signed.slice(place + 1);
          fc.pre(forged !== signed);
          expect(signatures.verified("c", forged)).toBeUndefined();
        },
      ),
    );
  });

  it("answer for any text, and never throw", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        expect(signatures.verified("c", text)).toBeUndefined();
      }),
    );
  });
});

describe("cookies", () => {
  async function shop(options: Partial<AffiliateOptions> = {}) {
    const { url, posted } = await startService();
    const tracker = startTracker({ baseUrl: url, ...options });
    const app = express().use(tracker);
    app.get("/", tracker.onClick(), (req, res) => void res.json(req.affiliate?.snapshot()));
    const snapshotOf = async (cookie: string) => (await request(app).get("/").set("Cookie", cookie)).body;
    return { app, tracker, posted, snapshotOf };
  }

  const pairsOf = (response: request.Response) =>
    (response.get("Set-Cookie") ?? []).map((cookie) => cookie.split(";")[0] ?? "");

  it("are signed by `onClick`, and give the bare ids", async () => {
    const { app, tracker, posted } = await shop({ signed: "a secret" });
    const visitor = browser(app);
    const first = await visitor.get("/?ref=ALICE");
    const { clickId, sessionId } = first.body;
    expect(pairsOf(first)).toEqual([
      expect.stringMatching(new RegExp(`^svc_click_id=${clickId}\\.[\\w-]{43}$`)),
      expect.stringMatching(new RegExp(`^svc_session_id=${sessionId}\\.[\\w-]{43}$`)),
    ]);
    const again = await visitor.get("/?ref=ALICE");
    expect([pairsOf(again), again.body]).toEqual([[], { clickId, sessionId }]);
    await tracker.flush();
    expect(posted.map(({ body }) => body)).toMatchObject([{ clickId, sessionId }]);
  });

  it("count for nothing where they are not signed", async () => {
    const { snapshotOf } = await shop({ signed: ["a secret"] });
    expect(await snapshotOf("svc_click_id=c1; svc_session_id=s1")).toEqual({});
    const elsewhere = signaturesOf("another secret").sign("svc_click_id", "c1");
    expect(await snapshotOf(`svc_click_id=${elsewhere}`)).toEqual({});
  });

  it("of an old secret still count, and new ones have the new secret", async () => {
    const { app, snapshotOf } = await shop({ signed: ["new", "old"] });
    expect(await snapshotOf(`svc_click_id=${signaturesOf("old").sign("svc_click_id", "c1")}`)).toEqual({
      clickId: "c1",
    });
    const [click = ""] = pairsOf(await browser(app).get("/?ref=ALICE"));
    expect(signaturesOf("new").verified("svc_click_id", click.split("=")[1] ?? "")).toBeDefined();
  });

  it("of one name: the first counts; where they are signed, the first that is", async () => {
    const plain = await shop();
    expect(await plain.snapshotOf("svc_click_id=tossed; svc_click_id=c1")).toEqual({ clickId: "tossed" });
    const { snapshotOf } = await shop({ signed: "a secret" });
    const genuine = signaturesOf("a secret").sign("svc_click_id", "c1");
    expect(await snapshotOf(`svc_click_id=tossed; svc_click_id=${genuine}`)).toEqual({ clickId: "c1" });
  });
});
