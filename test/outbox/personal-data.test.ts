import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type FoundEvent,
  type Person,
  personalDataIn,
  personalEventOf,
} from "../../src/outbox/personal-data.js";
import { sample, sampleOf, stranger } from "../contract/samples.js";

const storageOf = (...events: readonly FoundEvent[]) => ({
  async *pages() {
    for (const event of events) yield [event];
  },
});

const waiting = (event: Parameters<typeof personalEventOf>[0]) => personalEventOf(event, "waiting");

async function idsOf(person: Person, ...events: readonly FoundEvent[]): Promise<string[]> {
  return (await personalDataIn(storageOf(...events), person, undefined)).map(({ id }) => id);
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

  it("leads to the conversions with it, and to clicks with their ids, and never to another's conversion", async () => {
    const visitors = Array.from({ length: 3 }, stranger);
    const anEvent = fc
      .record({
        kind: fc.constantFrom("click", "registration", "payment"),
        email: fc.constantFrom("ada@shop.example", "bo@shop.example"),
        clickId: fc.option(fc.constantFrom(...visitors.map(({ clickId }) => clickId)), { nil: undefined }),
        sessionId: fc.option(fc.constantFrom(...visitors.map(({ sessionId }) => sessionId)), {
          nil: undefined,
        }),
      })
      .map(({ kind, email, clickId, sessionId }) =>
        sampleOf(email, kind, { ...(clickId && { clickId }), ...(sessionId && { sessionId }) }),
      );
    await fc.assert(
      fc.asyncProperty(fc.array(anEvent, { maxLength: 12 }), async (events) => {
        const emailOf = ({ data }: (typeof events)[number]) =>
          "email" in data ? data.email : "customerEmail" in data ? data.customerEmail : undefined;
        const own = events.filter((event) => emailOf(event) === "ada@shop.example");
        const sharesWithOwn = ({ data }: (typeof events)[number]) =>
          own.some(
            (each) =>
              (data.clickId !== undefined && each.data.clickId === data.clickId) ||
              (data.sessionId !== undefined && each.data.sessionId === data.sessionId),
          );
        const meant = events.filter(
          (event) => own.includes(event) || (event.kind === "click" && sharesWithOwn(event)),
        );
        const found = await idsOf({ email: "Ada@shop.example" }, ...events.map(waiting));
        expect(found.sort()).toEqual(meant.map(({ id }) => id).sort());
      }),
    );
  });

  it("is refused if it is none, whatever a stranger sends", async () => {
    const isPerson = (person: unknown) =>
      personalDataIn(storageOf(), person as Person, undefined).then(
        () => true,
        (error) => {
          expect(error).toMatchObject({ code: "ERR_AFFILIATE_ARGUMENT" });
          return false;
        },
      );
    await fc.assert(
      fc.asyncProperty(fc.anything(), async (email) => {
        const isAddress = typeof email === "string" && /^[^\s@]+@[^\s@]+$/.test(email);
        expect(await isPerson({ email })).toBe(isAddress);
      }),
    );
    await fc.assert(fc.asyncProperty(fc.anything(), async (person) => void (await isPerson(person))));
  });
});

it("takes ids that are null, as columns of a user's row may be, and lists the oldest first", async () => {
  const visitor = stranger();
  const [first, second] = [
    sample("click", visitor),
    { ...sample("payment", visitor), createdAt: Date.now() },
  ];
  const found = await idsOf(
    { email: null, clickId: null, sessionId: visitor.sessionId },
    waiting(second),
    waiting(first),
  );
  expect(found).toEqual([first.id, second.id]);
});

it("does not show where an event is", async () => {
  const event = sampleOf("ada@shop.example", "payment");
  const [found] = await personalDataIn(
    storageOf({ ...waiting(event), place: 7 }),
    { email: "ada@shop.example" },
    undefined,
  );
  expect(found).toEqual(waiting(event));
});
