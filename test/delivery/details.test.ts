import type { OutboxEvent } from "express-affiliate";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { withoutVisitor } from "../../src/delivery/details.js";
import { startService } from "../helpers/service.js";
import { linesLogger, startTracker } from "../helpers/tracker.js";

function registration(data: OutboxEvent["data"] & { email: string }): OutboxEvent {
  const event = {
    id: "1".repeat(32),
    destination: 1,
    kind: "registration",
    data,
    createdAt: 0,
  };
  return event as OutboxEvent;
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
    fc.assert(
      fc.property(data, fc.constantFrom(...spellings), (own, spell) => {
        const said = Object.values(own).map((each) => spell(each));
        const shown = withoutVisitor(said.join(" | "), registration(own));
        expect(shown).toBe(said.map(() => "[redacted]").join(" | "));
      }),
    );
  });

  it("keeps words that a short id is part of", () => {
    const event = registration({ sessionId: "4", email: "a@b.example" });
    expect(withoutVisitor("404 for session 4", event)).toBe("404 for session [redacted]");
  });

  it("shows neither in dead letters, notices nor the log of whom", async () => {
    const [session, click, person] = ["session-secret", "click-secret", "Ada Lovelace"];
    const service = await startService((_request, res) => {
      res.statusCode = 422;
      return { error: `about ${click}`, message: `${person} (ada@shop.example) of ${session}`, status: 422 };
    });
    const logger = linesLogger();
    const tracker = startTracker({ baseUrl: service.url, logger });
    const notices: { message?: string; code?: string }[] = [];
    tracker.on("dead", (notice) => notices.push(notice));
    await tracker.trackRegistration(
      { email: "ada@shop.example", customerId: "7", customerName: person },
      { clickId: click, sessionId: session },
    );
    await tracker.flush();

    const [letter] = await tracker.deadLetters.list();
    expect(letter).toMatchObject({
      code: "about [redacted]",
      message: "[redacted] ([redacted]) of [redacted]",
    });
    expect(notices).toMatchObject([{ code: letter?.code, message: letter?.message }]);
    const lines = logger.lines.join("\n");
    expect(lines).toContain("about [redacted]");
    for (const own of [session, click, person, "ada@shop"]) expect(lines).not.toContain(own);
  });
});
