import type { OutboxEvent } from "express-affiliate";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { detailsOf } from "../../src/delivery/details.js";
import { sample } from "../contract/samples.js";
import { forAny } from "../helpers/for-any.js";

/** What is shown of the service's words about a registration. */
function shownOf(message: string, data: object): string {
  const answer = { type: "answer", status: 400, body: { message } } as const;
  const event = { ...sample("registration"), data } as OutboxEvent;
  return detailsOf(answer, event, { hide: (text) => text, now: 0 }).message;
}

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
    const data = fc.record({ clickId: id, sessionId: id, customerName: name, email: fc.emailAddress() });
    forAny(data, fc.constantFrom(...spellings), (own, spell) => {
      const said = Object.values(own).map((each) => spell(each));
      const redacted = said.map(() => "[redacted]").join(" | ");
      expect(shownOf(said.join(" | "), own)).toBe(redacted);
    });
  });

  it("keeps words that a short id is part of", () => {
    const data = { sessionId: "4", email: "a@b.example" };
    expect(shownOf("404 for session 4", data)).toBe("404 for session [redacted]");
  });
});
