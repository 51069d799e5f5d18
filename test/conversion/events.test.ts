import type { OutboxEvent } from "express-affiliate";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { eventFrom, paymentEventId } from "../../src/conversion/event-from.js";
import { namesOf } from "../../src/conversion/events.js";
import { emailOf } from "../../src/conversion/kinds.js";
import { createPseudonyms } from "../../src/conversion/pseudonyms.js";
import { A_REFERENCE } from "../../src/conversion/reference.js";
import { isVisitorId } from "../../src/conversion/visitor-ids.js";
import { anyCharacter, forAny } from "../helpers/for-any.js";
import { heapAtRest } from "../helpers/heap.js";

const now = Date.UTC(2026, 0, 2);
const read = (kind: OutboxEvent["kind"], input: unknown, attribution = {}) =>
  eventFrom(kind, input, attribution, { clientId: 42, now });
const event = (...args: Parameters<typeof read>) => read(...args) as OutboxEvent;
const AN_ID = "must be a text of 1 to 256 characters, an integer, or an id such as an ObjectId";
const payment = { paymentId: 1, customerEmail: "a@b", leadValue: 1 };

describe("events", () => {
  it("keep the specification's fields and nothing else of what the host returned", () => {
    const fields = { email: "ada@shop.example", customerId: 7, customerName: null };
    const user = { ...fields, passwordHash: "x", __proto__: { a: 1 } };
    expect(event("registration", user, { clickId: "c1" })).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{32}$/),
      destination: 42,
      kind: "registration",
      data: { clickId: "c1", email: "ada@shop.example", customerId: "7" },
      createdAt: now,
    });
  });

  it("are the same for the same happening, and only for it", () => {
    const id = (...args: Parameters<typeof read>) => event(...args).id;
    const ada = { email: "Ada@shop.example" };
    const paid = id("payment", payment);
    expect(id("payment", { ...payment, paymentId: "1", leadValue: 2 }, { clickId: "c" })).toBe(paid);
    expect(id("payment", { ...payment, paymentId: 2 })).not.toBe(paid);
    const registered = (fields: object) => id("registration", { ...ada, ...fields });
    expect(registered({ email: "ada@shop.example", customerName: "Ada" })).toBe(registered({}));
    expect(registered({ customerId: 1 })).not.toBe(registered({ customerId: 2 }));
    expect(registered({ email: "1@b", customerId: "1" })).not.toBe(paid);
    const click = { affiliateReference: "ALICE" };
    expect(id("click", { ...click, clickId: "c1" })).toBe(id("click", click, { clickId: "c1" }));
    expect(id("click", click)).not.toBe(id("click", click));
    expect(eventFrom("payment", payment, {}, { clientId: 43, now })).not.toMatchObject({ id: paid });
  });

  it("have an id that no guess of an address confirms, and that a payment keeps whatever the API key", () => {
    const idWith = (apiKey: string | undefined, kind: OutboxEvent["kind"], input: object) => {
      const pseudonym = apiKey === undefined ? undefined : createPseudonyms(apiKey);
      return (eventFrom(kind, input, { clickId: "c" }, { clientId: 42, now, pseudonym }) as OutboxEvent).id;
    };
    const distinct = (kind: OutboxEvent["kind"], input: object) =>
      new Set(["sk_1", "sk_2", undefined].map((key) => idWith(key, kind, input))).size;
    for (const input of [{ email: "ada@shop.example" }, { email: "x@y", customerId: "ada@shop.example" }]) {
      expect(distinct("registration", input)).toBe(3);
      expect(idWith("sk_1", "registration", input)).toBe(
        idWith("sk_1", "registration", { ...input, customerName: "Ada" }),
      );
    }
    expect(distinct("registration", { email: "ada@shop.example", customerId: 7 })).toBe(1);
    expect(distinct("payment", payment)).toBe(1);
  });

  it.each(["undefined", "null", "NaN", "[object Object]"])("take the text %j for no id", (text) => {
    expect(read("payment", { ...payment, paymentId: text })).toEqual({
      invalid: `\`paymentId\`: ${AN_ID}, got the text "${text}"`,
    });
    expect(event("registration", { email: "a@b", customerId: text }).data).toEqual({ email: "a@b" });
    expect(isVisitorId(text)).toBe(false);
    const click = event("click", { affiliateReference: "ALICE", clickId: text }, { clickId: "c" });
    expect(click.data.clickId).toBe("c");
  });

  it("have one key for an address, however its ASCII letters are written, and for no other address", () => {
    const id = (email: string) => event("registration", { email }).id;
    expect(id("MARK@Shop.example")).toBe(id("mark@shop.example"));
    expect(id("mar\u212A@shop.example")).not.toBe(id("mark@shop.example"));
    const local = fc.string({ unit: anyCharacter, minLength: 1 }).filter((text) => /^[^\s@]+$/.test(text));
    forAny(local, local, (one, other) => {
      const fold = (text: string) => text.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase());
      // In between: what cannot be seen is taken off an address' ends.
      expect(id(`a${one}a@b`) === id(`a${other}a@b`)).toBe(fold(one) === fold(other));
    });
  });

  it("have a key of their own for each id, or refuse it", () => {
    const id = fc.string({
      unit: fc.constantFrom("a", "\ud800", "\udc00", "\u{1f600}", "\ufffd"),
      maxLength: 4,
    });
    forAny(id, id, (one, other) => {
      const keys = [one, other].map((paymentId) => read("payment", { ...payment, paymentId }));
      const [first, second] = keys.map((key) => ("id" in key ? key.id : undefined));
      expect(first === undefined).toBe(one === "" || !one.isWellFormed());
      if (first !== undefined) expect(first === second).toBe(one === other);
    });
    const lone = "\ud800";
    expect(read("registration", { email: `a${lone}@b` })).toHaveProperty("invalid");
    expect(read("registration", { email: "a@b", customerId: lone })).toHaveProperty("invalid");
    expect(read("payment", { ...payment, paymentId: 10n ** 300n })).toHaveProperty("invalid");
  });

  it("hold no text that is longer than its field, and no half character", () => {
    const text = fc
      .tuple(
        fc.string({ unit: anyCharacter, maxLength: 3 }),
        fc.constantFrom("x", "\u{1f600}", "\ud800", "\udc00"),
      )
      .map(([start, unit]) => start + unit.repeat(3_000));
    forAny(text, (long) => {
      for (const [kind, fields] of Object.entries({
        click: { clickedUrl: 2_048, referrerUrl: 2_048, userAgent: 512, source: 256 },
        registration: { customerName: 256 },
      })) {
        const given = Object.fromEntries(Object.keys(fields).map((name) => [name, long]));
        const input = { affiliateReference: "ALICE", email: "a@b", ...given };
        const data: object = event(kind as "click", input).data;
        for (const [name, longest] of Object.entries(fields)) {
          const kept: string = data[name as keyof typeof data];
          expect([longest, longest - 1]).toContain(kept.length);
          expect(kept.isWellFormed()).toBe(true);
          expect(long.toWellFormed().startsWith(kept)).toBe(true);
        }
      }
    });
  });

  const ada = { email: "ada@shop.example" };
  const AN_ADDRESS = "must be an e-mail address";
  it.each<[OutboxEvent["kind"], object, string]>([
    ["registration", { email: undefined }, `${AN_ADDRESS}, got undefined`],
    ["registration", { email: 7 }, `${AN_ADDRESS}, got a number`],
    ["registration", { email: "" }, `${AN_ADDRESS}, got an empty text`],
    ["registration", { email: "Ada" }, `${AN_ADDRESS}, got a text of 3 characters`],
    ["registration", { email: Promise.resolve() }, `${AN_ADDRESS}, got an object (Promise)`],
    ["registration", { customerName: 7 }, "must be a text, got a number"],
    ["payment", { paymentId: undefined }, `${AN_ID}, got undefined`],
    ["payment", { paymentId: Number.NaN }, `${AN_ID}, got NaN (number)`],
    ["payment", { paymentId: new Date(0) }, `${AN_ID}, got an object (Date)`],
    ["payment", { paymentId: Buffer.from("12") }, `${AN_ID}, got an object (Buffer)`],
    ["payment", { paymentId: [1] }, `${AN_ID}, got an array`],
    ["payment", { paymentId: { id: 1 } }, `${AN_ID}, got an object`],
    ["payment", { notBefore: "2026-12-01" }, "must be a valid Date, got a text of 10 characters"],
    ["payment", { notBefore: 1_900_000_000_000 }, "must be a valid Date, got a number"],
    ["payment", { notBefore: new Date(Number.NaN) }, "must be a valid Date, got an object (Date)"],
    ["payment", { notBefore: new Date(now + 401 * 86_400_000) }, "must be at most 400 days from now"],
    ["click", { affiliateReference: 7 }, `must be an affiliate's reference: ${A_REFERENCE}, got a number`],
  ])("say in the host's words what is wrong with a %s of %o", (kind, fields, because) => {
    const right = kind === "payment" ? payment : ada;
    const [name] = Object.keys(fields);
    expect(read(kind, { ...right, ...fields })).toEqual({ invalid: `\`${name}\`: ${because}` });
    for (const input of [null, []]) expect(read(kind, input)).toEqual({ invalid: "it must be an object" });
  });

  it("take white space of every kind off an address, which is the same customer", () => {
    const { id, data } = event("registration", { email: " \t\u00a0\u3000\ufeffada@shop.example\r\n" });
    expect(data).toEqual({ email: "ada@shop.example" });
    expect(id).toBe(event("registration", { email: "ada@shop.example" }).id);
  });

  it.each([
    ["a number", 7, "7"],
    ["a bigint", 7n, "7"],
    ["an ObjectId", { toString: () => "507f1f77bcf86cd799439011" }, "507f1f77bcf86cd799439011"],
    ["a UUID", { toString: () => "0b0f3f5c-2b1e-4d7f" }, "0b0f3f5c-2b1e-4d7f"],
  ])("take %s for the id that is its text", (_, own, text) => {
    const withText = event("payment", { ...payment, paymentId: text });
    expect(event("payment", { ...payment, paymentId: own })).toEqual(withText);
    expect(event("registration", { email: "a@b", customerId: own }).data).toMatchObject({ customerId: text });
    expect(paymentEventId(1, own)).toBe(paymentEventId(1, text));
  });

  it("take any input for an event or for invalid, and say why in printable ASCII", () => {
    const field = fc.oneof(fc.anything(), fc.constantFrom("a@b", 1, "x", null));
    const input = fc.oneof(
      fc.anything(),
      fc.record({
        ...{ email: field, customerId: field, customerName: field },
        ...{ paymentId: field, customerEmail: field, leadValue: field },
        ...{ affiliateReference: field, clickId: field },
      }),
    );
    forAny(fc.constantFrom("click", "registration", "payment"), input, (kind, given) => {
      const result = read(kind, given);
      if ("invalid" in result) {
        expect(result.invalid).toMatch(/^[\x20-\x7e]+$/);
      } else {
        expect(JSON.parse(JSON.stringify(result))).toEqual(result);
        for (const id of [result.data.clickId, result.data.sessionId])
          if (id !== undefined) expect(isVisitorId(id)).toBe(true);
      }
    });
  });

  it("keep nothing of the request that their texts were cut out of", async () => {
    const before = await heapAtRest();
    const events = Array.from({ length: 200 }, (_, nth) => {
      const header = `theme=${"x".repeat(100_000)}; svc_session_id=0b0f3f5c-2b1e-4d7f-9a44-${nth}`;
      const text = header.slice(header.lastIndexOf("=") + 1);
      const payment = { paymentId: text, customerEmail: `${text}@b`.slice(1), leadValue: 1 };
      const click = { affiliateReference: text, userAgent: header.slice(-30), clickedUrl: header.slice(9) };
      return [event("payment", payment, { sessionId: text }), event("click", click)];
    });
    expect((await heapAtRest()) - before).toBeLessThan(4_000_000);
    expect(namesOf(events[7]?.[0] as OutboxEvent)).toEqual(["s0b0f3f5c-2b1e-4d7f-9a44-7"]);
  });

  it("know their customer and their visitor", () => {
    const paid = event("payment", payment);
    const click = event("click", { affiliateReference: "ALICE" }, { clickId: "c", sessionId: "s" });
    expect([emailOf(paid), emailOf(click)]).toEqual(["a@b", undefined]);
    expect([namesOf(paid), namesOf(click)]).toEqual([[`e${paid.id}`], ["ss", "cc"]]);
  });
});
