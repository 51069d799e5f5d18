import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { emailOf, isVisitorId, type OutboxEvent, visitorOf } from "../src/events.js";
import { eventFrom } from "../src/inputs.js";
import { maskEmails } from "../src/shared/secret.js";
import { heapUsed } from "./helpers/heap.js";

const now = Date.UTC(2026, 0, 2);
const read = (kind: OutboxEvent["kind"], input: unknown, attribution = {}) =>
  eventFrom(kind, input, attribution, { clientId: 42, destination: "42:https://tracking.example", now });
const event = (...args: Parameters<typeof read>) => read(...args) as OutboxEvent;

describe("events", () => {
  it("keep the specification's fields and nothing else of what the host returned", () => {
    const user = {
      email: "ada@shop.example",
      customerId: 7,
      customerName: null,
      passwordHash: "x",
      __proto__: { a: 1 },
    };
    expect(event("registration", user, { clickId: "c1" })).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{32}$/),
      destination: "42:https://tracking.example",
      kind: "registration",
      data: { clickId: "c1", email: "ada@shop.example", customerId: "7" },
      createdAt: now,
    });
  });

  it.each([
    [7, "7"],
    [7n, "7"],
    ["7", "7"],
  ])("send the host's id %o as a string", (customerId, sent) => {
    expect(event("registration", { email: "a@b", customerId }).data).toEqual({
      email: "a@b",
      customerId: sent,
    });
  });

  it("are the same for the same happening, and only for it", () => {
    const id = (...args: Parameters<typeof read>) => event(...args).id;
    const payment = { paymentId: 1, customerEmail: "a@b", leadValue: 1 };
    const ada = { email: "Ada@shop.example" };
    expect(id("payment", payment)).toBe(
      id("payment", { ...payment, paymentId: "1", leadValue: 2 }, { clickId: "c" }),
    );
    expect(id("payment", payment)).not.toBe(id("payment", { ...payment, paymentId: 2 }));
    expect(id("registration", ada)).toBe(
      id("registration", { email: "ada@shop.example", customerName: "Ada" }),
    );
    expect(id("registration", { ...ada, customerId: 1 })).not.toBe(
      id("registration", { ...ada, customerId: 2 }),
    );
    expect(id("registration", { email: "1@b", customerId: "1" })).not.toBe(id("payment", payment));
    const click = { affiliateReference: "ALICE" };
    expect(id("click", { ...click, clickId: "c1" })).toBe(id("click", click, { clickId: "c1" }));
    expect(id("click", click)).not.toBe(id("click", click));
    expect(
      eventFrom("payment", payment, {}, { clientId: 43, destination: "43:https://tracking.example", now }),
    ).not.toMatchObject({
      id: id("payment", payment),
    });
  });

  it("take any input for an event or for invalid, and say why in printable ASCII", () => {
    const field = fc.oneof(fc.anything(), fc.constantFrom("a@b", 1, "x", null));
    const input = fc.oneof(
      fc.anything(),
      fc.record({
        email: field,
        customerId: field,
        customerName: field,
        paymentId: field,
        customerEmail: field,
        leadValue: field,
        affiliateReference: field,
        clickId: field,
      }),
    );
    fc.assert(
      fc.property(fc.constantFrom("click", "registration", "payment"), input, (kind, given) => {
        const result = read(kind, given);
        if ("invalid" in result) {
          expect(result.invalid).toMatch(/^[\x20-\x7e]+$/);
        } else {
          expect(JSON.parse(JSON.stringify(result))).toEqual(result);
          for (const id of [result.data.clickId, result.data.sessionId])
            if (id !== undefined) expect(isVisitorId(id)).toBe(true);
        }
      }),
    );
  });

  it("keep nothing of the request that their ids were cut out of", () => {
    const payment = { paymentId: 1, customerEmail: "a@b", leadValue: 1 };
    const before = heapUsed();
    const events = Array.from({ length: 200 }, (_, nth) => {
      const header = `theme=${"x".repeat(100_000)}; svc_session_id=0b0f3f5c-2b1e-4d7f-9a44-${nth}`;
      return event("payment", payment, { sessionId: header.slice(header.lastIndexOf("=") + 1) });
    });
    expect(heapUsed() - before).toBeLessThan(2_000_000);
    expect(visitorOf(events[7] as OutboxEvent)).toBe("0b0f3f5c-2b1e-4d7f-9a44-7");
  });

  it("know their customer and their visitor", () => {
    const payment = event("payment", { paymentId: 1, customerEmail: "a@b", leadValue: 1 });
    const click = event("click", { affiliateReference: "ALICE" }, { clickId: "c", sessionId: "s" });
    expect([emailOf(payment), emailOf(click)]).toEqual(["a@b", undefined]);
    expect([visitorOf(payment), visitorOf(click)]).toEqual([payment.id, "s"]);
  });
});

describe("maskEmails", () => {
  it.each([
    ["no such customer: ada.lovelace@shop.example!", "no such customer: a***@shop.example!"],
    ['{"email":"ada@shop.example","b":"bob@x"}', '{"email":"a***@shop.example","b":"b***@x"}'],
    ["nothing to hide", "nothing to hide"],
  ])("reads %j as %j", (text, masked) => {
    expect(maskEmails(text)).toBe(masked);
  });

  it("leaves no whole address standing in any text around it", () => {
    fc.assert(
      fc.property(fc.string(), fc.emailAddress(), fc.string(), (before, address, after) => {
        fc.pre(address.indexOf("@") > 1);
        expect(maskEmails(`${before} ${address} ${after}`)).not.toContain(address);
      }),
    );
  });
});
