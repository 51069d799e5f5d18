import type { OutboxEvent } from "express-affiliate";
import { expect, test } from "vitest";
import { type AttemptOutcome, createAppend } from "../../../src/outbox/sql/append.js";
import { sample, stranger } from "../../contract/samples.js";
import { FakeClock } from "../../helpers/fake-clock.js";

type Attempt = (events: readonly OutboxEvent[]) => readonly AttemptOutcome[];

/** A server that another transaction holds up, as a test says. */
function setUp(attempt: Attempt) {
  const clock = new FakeClock();
  const server = { attempt };
  const stored: OutboxEvent[] = [];
  const { append } = createAppend({
    name: "mysql",
    clock,
    storedBy: async () => new Set(),
    isLost: () => false,
    async attempt(events) {
      const outcomes = server.attempt(events);
      stored.push(...events.filter((_, nth) => outcomes[nth] === "queued"));
      return outcomes;
    },
  });
  return { append, clock, server, stored };
}

const all =
  (outcome: AttemptOutcome): Attempt =>
  (events) =>
    events.map(() => outcome);

test("what the server has not stored is not taken for stored, if no event is found to be the one that has to wait", async () => {
  const { append, clock, server, stored } = setUp(all("rolled back"));
  const event = sample("payment");
  const waits: string[] = [];
  const outcomes: string[] = [];
  void append(event, () => waits.push("waits")).then((outcome) => outcomes.push(outcome));

  await clock.pass(500);
  expect(outcomes).toEqual([]);
  expect(waits).not.toEqual([]);

  server.attempt = all("queued");
  await clock.pass(50);
  expect(outcomes).toEqual(["queued"]);
  expect(stored).toEqual([event]);
});

test("the one that has to wait is found by storing each alone, and holds up no event but its visitor's", async () => {
  const visitor = stranger();
  const [held, next, other] = [sample("click", visitor), sample("payment", visitor), sample("payment")];
  const isHeldUp = (events: readonly OutboxEvent[]) => events.includes(held);
  const { append, clock, server, stored } = setUp((events) =>
    all(isHeldUp(events) ? "rolled back" : "queued")(events),
  );
  const outcomes = Promise.all([held, next, other].map((event) => append(event)));

  await clock.pass(500);
  expect(stored).toEqual([other]);

  server.attempt = all("queued");
  await clock.pass(50);
  expect(stored).toEqual([other, held, next]);
  expect(await outcomes).toEqual(["queued", "queued", "queued"]);
});

test("a look at what is held holds up no event that comes with it", async () => {
  const held = sample("payment");
  const calls: (readonly OutboxEvent[])[] = [];
  const { append, clock } = setUp((events) => {
    calls.push(events);
    return events.map((event) =>
      event === held ? "busy" : events.includes(held) ? "rolled back" : "queued",
    );
  });
  void append(held);
  await clock.pass(0);

  const other = sample("payment");
  clock.after(50, () => void append(other));
  await clock.pass(50);
  expect(calls).toEqual([[held], [other], [held]]);
});
