import type { OutboxEvent } from "express-affiliate";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { withoutVisitor } from "../../src/delivery/details.js";
import { sample } from "../contract/samples.js";
import { trackerWithService } from "../helpers/tracker.js";

const registration = (data: object) => ({ ...sample("registration"), data }) as OutboxEvent;

const id = fc.stringMatching(/^[\w.:@+-]{1,30}$/);
const name = fc.stringMatching(/^[A-Z][a-z]{2,9}( [A-Z][a-z']{2,9})?$/);
const spellings: ((text: string) => string)[] = [
  (text) => text,
  encodeURIComponent,
  (text) => JSON.stringify(text).slice(1, -1),
  (text) => text.toUpperCase(),
];

describe("what the service says of an event", () => {
  it("loses the event's ids, name and address, however they are spelt", () => {
    // The message itself is decoded: `%0a` in an address would be a new line in it.
    const email = fc.emailAddress().filter((each) => !/[%=][0-9a-f]{2}|&#/i.test(each));
    const data = fc.record({ clickId: id, sessionId: id, customerName: name, email });
    fc.assert(
      fc.property(data, fc.constantFrom(...spellings), (own, spell) => {
        const said = Object.values(own).map((each) => spell(each));
        const shown = withoutVisitor(said.join(" | "), registration(own));
        expect(shown).toBe(said.map(() => "[redacted]").join(" | "));
      }),
    );
  });

  it("loses parts of a name and of an address", () => {
    const event = registration({ email: "grace.hopper@navy.example", customerName: "Ada King-Lovelace" });
    expect(withoutVisitor("LOVELACE, Ada: no grace, no mail for hopper, and no ada or king", event)).toBe(
      "[redacted], [redacted]: no [redacted], no mail for [redacted], and no [redacted] or [redacted]",
    );
    const inJapan = registration({ email: "a@b.example", customerName: "山田太郎" });
    expect(withoutVisitor("山田様は見つかりません", inJapan)).toBe("[redacted]様は見つかりません");
  });

  it.each([
    ["fullwidth letters", "ｌｏｖｅｌａｃｅ"],
    ["a fullwidth @", "no ada＠shop.example"],
    ["entities", "no &#76;ovelace"],
    ["hexadecimal entities", "no &#x4C;ovelace"],
    ["JavaScript's escapes", "no \\x4covelace"],
    ["escapes by code point", "no \\u{4c}ovelace"],
    ["an escape after another", "no %255Cu004covelace"],
    ["a mail's escapes", "no =4Covelace"],
    ["percent signs around", "no%20such%20Lovelace"],
    ["other accents", "no Lôvelacé"],
    ["invisible characters", "no Love\u200blace"],
    ["Latin-1", "no M%FCller"],
    ["no accents", "no Muller"],
  ])("drops the message if it names the person in %s", (_, message) => {
    const event = registration({ email: "ada@shop.example", customerName: "Lovelace Müller" });
    const shown = withoutVisitor(message, event);
    expect(shown).toMatch(/^(no )?\[redacted\](＠shop\.example)?$/);
  });

  it("keeps words that a short id is part of", () => {
    const event = registration({ sessionId: "4", email: "a@b.example" });
    expect(withoutVisitor("404 for session 4", event)).toBe("404 for session [redacted]");
  });

  it("shows neither in dead letters, notices nor the log of whom", async () => {
    const [session, click, person] = ["session-secret", "click-secret", "Ada Lovelace"];
    const { tracker, lines } = await trackerWithService({}, (_request, res) => {
      res.statusCode = 422;
      return { error: `about ${click}`, message: `${person} (ada@shop.example) of ${session}`, status: 422 };
    });
    const notices: unknown[] = [];
    tracker.on("dead", (notice) => notices.push(notice));
    await tracker.trackRegistration(
      { email: "ada@shop.example", customerId: "7", customerName: person },
      { clickId: click, sessionId: session },
    );
    await tracker.flush();

    const [letter] = await tracker.deadLetters.list();
    const said = { code: "about [redacted]", message: "[redacted] ([redacted]) of [redacted]" };
    expect(letter).toMatchObject(said);
    expect(notices).toMatchObject([said]);
    expect(lines.join()).toContain("about [redacted]");
    for (const own of [session, click, person, "ada@shop"]) expect(lines.join()).not.toContain(own);
  });
});
