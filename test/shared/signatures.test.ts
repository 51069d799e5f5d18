import { createHmac } from "node:crypto";
import express from "express";
import type { AffiliateOptions } from "express-affiliate";
import fc from "fast-check";
import request from "supertest";
import { describe, expect, it } from "vitest";
import { Secret } from "../../src/shared/secret.js";
import { createSignatures } from "../../src/shared/signatures.js";
import { anyCharacter, forAny } from "../helpers/for-any.js";
import { trackerWithService } from "../helpers/tracker.js";

describe("signatures", () => {
  const AGE_MS = 60_000;
  let now = Date.UTC(2026, 0, 1);
  const signaturesOf = (...secrets: string[]) =>
    createSignatures(
      secrets.map((each) => new Secret(each)),
      () => now,
    );
  const signatures = signaturesOf("new", "old");

  it("are known again, of every secret, and for the cookie's name alone", () => {
    const signed = signatures.sign("svc_click_id", "c1", AGE_MS);
    expect(signed).toMatch(/^c1\.[0-9a-z]+-[0-9a-z]+\.[\w-]{43}$/);
    expect(signatures.verified("svc_click_id", signed)).toBe("c1");
    expect(signatures.verified("svc_session_id", signed)).toBeUndefined();
    const old = signaturesOf("old").sign("svc_click_id", "c1", AGE_MS);
    expect(signatures.verified("svc_click_id", old)).toBe("c1");
    expect(signaturesOf("old").verified("svc_click_id", signed)).toBeUndefined();
  });

  it("hold for the cookie's age, whatever the browser does, and no other age can be written into them", () => {
    const signed = signatures.sign("c", "id", AGE_MS);
    now += AGE_MS - 1;
    expect(signatures.verified("c", signed)).toBe("id");
    now += 1;
    expect(signatures.verified("c", signed)).toBeUndefined();
    const longer = signed.replace(/-[0-9a-z]+/, "-zzzzzzzz");
    expect(longer).not.toBe(signed);
    expect(signatures.verified("c", longer)).toBeUndefined();
  });

  it("are none that the same secret has made for another purpose", () => {
    forAny(fc.string({ minLength: 1 }), fc.constantFrom("c=", "", "c:"), (value, before) => {
      const text = `${value}.${now.toString(36)}-${AGE_MS.toString(36)}`;
      const foreign = createHmac("sha256", "new").update(`${before}${text}`).digest("base64url");
      expect(signatures.verified("c", `${text}.${foreign}`)).toBeUndefined();
    });
  });

  it("are not known once anything in them is changed", () => {
    forAny(
      fc.string({ minLength: 1 }),
      fc.nat(),
      fc.string({ minLength: 1, maxLength: 1 }),
      (id, at, other) => {
        const signed = signatures.sign("c", id, AGE_MS);
        // All but the last of the signature's characters, of which two bits say nothing.
        const place = at % (signed.length - 1);
        const forged = signed.slice(0, place) + other + signed.slice(place + 1);
        fc.pre(forged !== signed);
        expect(signatures.verified("c", forged)).toBeUndefined();
      },
    );
  });

  it("answer for any text, and never throw", () => {
    forAny(fc.string({ unit: anyCharacter }), (text) => {
      expect(signatures.verified("c", text)).toBeUndefined();
    });
  });
});

it("cookies count if one of the shop's secrets has signed them, and of one name the first that does", async () => {
  /** Gives what a request with these cookies says of its visitor. */
  async function shop(options: Partial<AffiliateOptions> = {}) {
    const { tracker } = await trackerWithService(options);
    const app = express().use(tracker);
    app.get("/", tracker.onClick(), (req, res) => void res.json(req.affiliate?.snapshot()));
    return async (cookie: string) => (await request(app).get("/").set("Cookie", cookie)).body;
  }
  expect(await (await shop())("svc_click_id=tossed; svc_click_id=c1")).toEqual({ clickId: "tossed" });
  const secrets = ["the newest secret of the shop", "an earlier secret of the shop"];
  const snapshotOf = await shop({ signed: secrets });
  const signed = (secret: string) =>
    `svc_click_id=${createSignatures([new Secret(secret)]).sign("svc_click_id", "c1", 60_000)}`;
  expect(await snapshotOf("svc_click_id=c1; svc_session_id=s1")).toEqual({});
  expect(await snapshotOf(signed("another secret"))).toEqual({});
  const tossed = `svc_click_id=tossed; ${signed("another secret")}`;
  for (const secret of secrets)
    expect(await snapshotOf(`${tossed}; ${signed(secret)}`)).toEqual({ clickId: "c1" });
});
