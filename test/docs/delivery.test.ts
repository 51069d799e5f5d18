import { describe, expect, it } from "vitest";
import { IF_MAYBE_TAKEN } from "../../src/conversion/kinds.js";
import { type EndedAttempt, findingOf, verdictOn } from "../../src/delivery/meaning.js";
import { type Outcome, outcomeOf } from "../../src/delivery/outcome.js";
import { UNTRIED } from "../../src/outbox/outbox.js";
import type { Attempt } from "../../src/service/attempt.js";
import { sample } from "../contract/samples.js";
import { rowsOf, textOf } from "../helpers/docs/pages.js";

const rows = rowsOf(textOf("docs/delivery.md"), "One attempt, one outcome")
  .map((row) => Object.values(row))
  .map(([name = "", from = "", event = "", endpoint = ""]) => ({ name, from, event, endpoint }));
const named = (name: Outcome["type"]) => rows.find((row) => row.name === name)?.from ?? "";
const statusesIn = (from: string) => [...from.matchAll(/\b\d{3}\b/g)].map(([status]) => Number(status));

const answer = (status: number, more: Partial<Attempt> = {}) =>
  ({ type: "answer", status, body: undefined, ...more }) as Attempt;
const judge = (attempt: Attempt, maybeTaken = false) => outcomeOf(attempt, { maybeTaken, now: 0 });

/** An attempt that ends so, at an event that other visitors' events have passed. */
function endingAs(name: string, history: Partial<typeof UNTRIED> = {}): EndedAttempt {
  const [status = 200] = name === "delivered" ? [] : statusesIn(named(name as Outcome["type"]));
  const attempt: Attempt =
    name === "unreachable"
      ? { type: "no-answer", requestSent: false, error: new Error("refused") }
      : answer(status, { retryAfter: "60" });
  const claim = {
    ...{ event: sample("payment"), lane: { endpoint: "lead/payment", limit: 1 } as const },
    ...{ history: { ...UNTRIED, ...history }, interrupted: false, queuedAt: 0 },
  };
  return {
    ...{ claim, attempt, outcome: judge(attempt), othersPassed: true },
    ...{ now: 0, maxAgeMs: 1, random: () => 1, details: () => ({ code: "", message: "" }) },
    ambiguous: { ...IF_MAYBE_TAKEN, payment: "retry" },
  };
}

const becomes = (ended: EndedAttempt) => verdictOn(ended, true);

describe("the table of outcomes in docs/delivery.md", () => {
  it("has every outcome that a service or the network can cause", () => {
    const outcomes: Record<Exclude<Outcome["type"], "unsent" | "unsendable">, true> = {
      ...{ delivered: true, rejected: true, refused: true, throttled: true },
      ...{ failed: true, unreachable: true, ambiguous: true },
    };
    expect(rows.map(({ name }) => name)).toEqual(Object.keys(outcomes));
  });

  it("names the outcome of every status", () => {
    const outcomes = ["rejected", "refused", "failed", "ambiguous"] as const;
    const byClasses: Record<number, string> = { 2: "delivered", 3: "refused", 4: "rejected", 5: "ambiguous" };
    for (let status = 200; status < 600; status++) {
      const known = outcomes.find((outcome) => statusesIn(named(outcome)).includes(status));
      const byClass = byClasses[Math.floor(status / 100)];
      expect([status, judge(answer(status)).type]).toEqual([status, known ?? byClass]);
    }
    const throttled = { type: "throttled", retryAfterMs: 60_000 };
    for (const status of statusesIn(named("throttled")))
      expect(judge(answer(status, { retryAfter: "60" }))).toEqual(throttled);
    expect(judge(answer(409), true).type).toBe("delivered");
    expect(judge(answer(200, { body: { success: false } })).type).toBe("rejected");
  });

  it.each(rows)("says what $name means for the event and the endpoint", ({ name, event, endpoint }) => {
    const ended = endingAs(name);
    const finding = { works: "pass", fails: "failure", pauses: "pause", "the origin fails": "unreachable" }[
      endpoint
    ];
    expect([ended.outcome.type, findingOf(ended).type]).toEqual([name, finding]);
    const verdict = becomes(ended);
    if (event === "done") expect(verdict.type).toBe("delivered");
    else if (event.startsWith("dead letter"))
      expect(verdict).toMatchObject({ type: "dead", reason: "rejected" });
    else expect(verdict.type).toBe("retry");
    if (event.includes("after five")) {
      expect(becomes(endingAs(name, { refusals: 3 })).type).toBe("retry");
      expect(becomes(endingAs(name, { refusals: 4 }))).toMatchObject({ type: "dead", reason: "rejected" });
    }
    if (event.includes("`hold`")) {
      const holding = { ...ended, ambiguous: IF_MAYBE_TAKEN };
      expect(becomes(holding)).toMatchObject({ type: "dead", reason: "unconfirmed" });
    }
  });
});
