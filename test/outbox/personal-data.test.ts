import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { emailOf } from "../../src/conversion/kinds.js";
import {
  type Person,
  type PersonalEvent,
  personalDataIn,
  personalEventOf,
} from "../../src/outbox/personal-data.js";
import { addressIn } from "../../src/shared/emails.js";
import { sample, sampleOf, stranger, withData } from "../contract/samples.js";
import { forAnyAsync } from "../helpers/for-any.js";

const storageOf = (...events: readonly PersonalEvent[]) => ({
  async *pages() {
    for (const event of events) yield [event];
  },
});

const waiting = (event: Parameters<typeof personalEventOf>[0]) => personalEventOf(event, "waiting");

async function idsOf(person: Person, ...events: readonly PersonalEvent[]): Promise<string[]> {
  return (await personalDataIn(storageOf(...events), person)).map(({ id }) => id);
}

describe("a person's address", () => {
  it.each([
    ["ada@shop.example", "ADA@Shop.Example"],
    ["ä@shop.example", "Ä@shop.example"],
    ["ß@shop.example", "ß@SHOP.example"],
  ])("%s is %s", async (one, other) => {
    const event = sampleOf(one, "payment");
    expect(await idsOf({ email: other }, waiting(event))).toEqual([event.id]);
  });

  // The Kelvin sign, a dotless i and a long s: in one of the two cases each is an ASCII letter.
  it.each([
    ["k@shop.example", "\u212a@shop.example"],
    ["i@shop.example", "\u0131@shop.example"],
    ["s@shop.example", "\u017f@shop.example"],
  ])("%s is not %s, which is another person's", async (one, other) => {
    expect(await idsOf({ email: other }, waiting(sampleOf(one, "payment")))).toEqual([]);
    expect(await idsOf({ email: one }, waiting(sampleOf(other, "registration")))).toEqual([]);
  });

  it.each([7, null, ["ada@shop.example"]])(
    "is found beside an event that has %j in its place",
    async (odd) => {
      const damaged = withData(sample("payment"), { customerEmail: odd });
      const event = sampleOf("ada@shop.example", "payment");
      expect(await idsOf({ email: "ada@shop.example" }, waiting(damaged), waiting(event))).toEqual([
        event.id,
      ]);
    },
  );

  it("alone leads to conversions; ids, whosever they are, lead to clicks", async () => {
    const visitors = Array.from({ length: 3 }, stranger);
    const id = (name: "clickId" | "sessionId") =>
      fc.option(fc.constantFrom(...visitors.map((visitor) => visitor[name])), { nil: undefined });
    const ids = fc.record({ clickId: id("clickId"), sessionId: id("sessionId") });
    const anEvent = fc
      .record({
        kind: fc.constantFrom("click", "registration", "payment"),
        email: fc.constantFrom("ada@shop.example", "bo@shop.example"),
        ids,
      })
      .map(({ kind, email, ids: { clickId, sessionId } }) =>
        sampleOf(email, kind, { ...(clickId && { clickId }), ...(sessionId && { sessionId }) }),
      );
    await forAnyAsync(fc.array(anEvent, { maxLength: 12 }), ids, async (events, asked) => {
      const own = events.filter((event) => emailOf(event) === "ada@shop.example");
      const known = [asked, ...own.map(({ data }) => data)];
      const isKnown = ({ data }: (typeof events)[number]) =>
        known.some(
          ({ clickId, sessionId }) =>
            (clickId !== undefined && clickId === data.clickId) ||
            (sessionId !== undefined && sessionId === data.sessionId),
        );
      const meant = events.filter((event) => (event.kind === "click" ? isKnown(event) : own.includes(event)));
      const found = await idsOf({ email: "Ada@shop.example", ...asked }, ...events.map(waiting));
      expect(found.sort()).toEqual(meant.map(({ id }) => id).sort());
    });
  });

  it.each([
    [{ clickedUrl: "https://shop.example/hello/ada%40shop.example" }, true],
    [{ clickedUrl: "https://shop.example/?ref=A&utm_content=ADA%2540shop.example" }, false],
    [{ referrerUrl: "https://mail.example/u/ada@shop.example/inbox" }, true],
    [{ source: "mail to Ada@Shop.example" }, true],
    [{ source: "mail to bada@shop.example" }, false],
    [{ source: "mail to ada@shop.example.org" }, false],
  ])("leads to a click with %j: %s", async (fields, isFound) => {
    const click = sample("click");
    const event = { ...click, data: { ...click.data, ...fields } } as typeof click;
    expect(await idsOf({ email: "ada@shop.example" }, waiting(event))).toEqual(isFound ? [click.id] : []);
  });

  it("is refused if it is none, whatever a stranger sends", async () => {
    const isPerson = (person: unknown) =>
      personalDataIn(storageOf(), person as Person).then(
        () => true,
        (error) => {
          expect(error).toMatchObject({ code: "ERR_AFFILIATE_ARGUMENT" });
          return false;
        },
      );
    await forAnyAsync(fc.anything(), async (email) => {
      const isAddress = typeof email === "string" && addressIn(email) !== undefined;
      expect(await isPerson({ email })).toBe(isAddress);
    });
    await forAnyAsync(fc.anything(), async (person) => void (await isPerson(person)));
    const email = "ada@shop.example";
    for (const person of [{}, { email: null }, { mail: email }, { email: "Ada" }, { email, x: 1 }, null])
      expect(await isPerson(person)).toBe(false);
  });
});
