import type { Told } from "express-affiliate/gateways";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { forAny, times } from "../helpers/for-any.js";
import { bodies, everyGateway, withField } from "./bodies.js";

const ADDRESS = "ada.lovelace@shop.example";
const paid = { id: "p1", minor: 1_990, customer: "cus_1", email: ADDRESS, affiliate: '{"sessionId":"s1"}' };
const returned = { nth: 1, minor: 500, soFar: 500 };

/** Every path to a field of an event. */
function pathsIn(value: unknown, path = ""): string[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, each]) => {
    // Adyen's own names with dots cannot be a path.
    if (name.includes(".")) return [];
    const at = path === "" ? name : `${path}.${name}`;
    return [at, ...pathsIn(each, at)];
  });
}

const junk = fc.oneof(
  { weight: 1, arbitrary: fc.anything() },
  {
    weight: 2,
    arbitrary: fc.constantFrom<unknown>(
      ...["", ADDRESS, "1e3", "-5", "19,90", "__proto__", Buffer.from(ADDRESS), Symbol("s")],
      ...[-1, 0.5, Number.NaN, Infinity, 10n ** 30n, [], {}, Object.create(null), null, undefined],
    ),
  },
);

function numbersIn(told: NonNullable<Told>): number[] {
  const values = told.type === "payment" ? [told.payment.leadValue] : [told.amount, told.refundedSoFar];
  return values.filter((value) => value !== undefined);
}

describe.each(everyGateway)("%s", (gateway) => {
  const { read, sale, refund, dispute, fields } = bodies[gateway];
  const events = [sale(paid), refund(paid, returned), ...(dispute ? [dispute(paid)] : [])];

  function refusalOf(given: unknown): Error & { code?: string } {
    try {
      read(given);
    } catch (error) {
      return error as Error;
    }
    throw new Error("it was read");
  }

  /** A number that is one, `undefined`, or an error of ours without an address. */
  function expectSafe(given: unknown): void {
    let told: Told;
    try {
      told = read(given);
    } catch (error) {
      expect(error).toMatchObject({ code: "ERR_AFFILIATE_GATEWAY" });
      const { message } = error as Error;
      expect(message).toContain(`affiliate: ${gateway}: `);
      expect(message).toMatch(/^affiliate: \w+: [\w .]+: `[\w.]+` /);
      expect(message).not.toMatch(/@|lovelace/i);
      return;
    }
    if (told === undefined) return;
    for (const number of numbersIn(told)) expect(Number.isFinite(number) && number >= 0).toBe(true);
    const { paymentId } = told.type === "payment" ? told.payment : told;
    expect(typeof paymentId === "string" && paymentId !== "").toBe(true);
    expect(told.currency).toMatch(/^[A-Z]{3}$/);
  }

  it.each([
    ["undefined", undefined, "got undefined"],
    ["null", null, "got null"],
    ["a text", '{"type":"charge.succeeded"}', "got another text"],
    ["bytes", Buffer.from("{}"), "got bytes that are not parsed"],
    ["a list", [], "got an array"],
  ])("says that the event is missing if the body was parsed to %s", (_, given, got) => {
    const { code, message } = refusalOf(given);
    expect(code).toBe("ERR_AFFILIATE_GATEWAY");
    expect(message).toContain(`affiliate: ${gateway}: the event: \``);
    expect(message).toContain(got);
  });

  it("names an event's type, amount, currency and id, if one of them is missing or is none", () => {
    const event = sale(paid);
    for (const name of [undefined, 7, {}, ""]) {
      const { message } = refusalOf(withField(event, fields.type, name));
      expect(message).toMatch(
        new RegExp(`^affiliate: ${gateway}: the event: \`(${fields.type}|kind)\` must be`),
      );
    }
    for (const field of [fields.amount, fields.currency, fields.id])
      for (const value of [undefined, true, ADDRESS.slice(0, field === fields.id ? 0 : 30), {}]) {
        const { message } = refusalOf(withField(event, field, value));
        const renamed = field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
        expect(message).toMatch(new RegExp(`: \`(${field}|${renamed})\` must be`));
      }
    expect(refusalOf(withField(event, fields.currency, "XYZ")).message).toContain(
      'must be a currency of ISO 4217, got "XYZ" (string)',
    );
  });

  it("gives nothing, or an error of ours without an address, whatever it is given", () => {
    forAny(fc.oneof(fc.anything(), fc.object()), expectSafe);
  });

  it("gives the same for an event with any one field replaced by anything", () => {
    const places = events.flatMap((event) => pathsIn(event).map((path) => ({ event, path })));
    times(500).forAny(fc.constantFrom(...places), junk, ({ event, path }, value) => {
      expectSafe(withField(event, path, value));
      expectSafe(withField(event, path, undefined));
    });
  });
});
