import type { OutboxEvent } from "express-affiliate";
import { expect, test } from "vitest";
import { createAppend } from "../../../src/outbox/queue/append.js";
import { sample, stranger } from "../../contract/samples.js";
import { FakeClock } from "../../helpers/fake-clock.js";

type Attempt = (events: readonly OutboxEvent[]) => void;

const BUSY = new Error("it waits for another transaction");

/** A server that another transaction holds up, as a test says. */
function setUp(attempt: Attempt) {
  const clock = new FakeClock();
  const server = { attempt };
  const stored: OutboxEvent[] = [];
  const { append } = createAppend({
    name: "mysql",
    clock,
    isLost: () => false,
    isBusy: (error) => error === BUSY,
    async attempt(events) {
      server.attempt(events);
      stored.push(...events);
      return events.map(() => "queued");
    },
  });
  return { append, clock, server, stored };
}

const isBusy: Attempt = () => {
  throw BUSY;
};
const isFree: Attempt = () => {};

test("an event that the server keeps waiting is found by storing each alone, and delays only its visitor's events", async () => {
  const visitor = stranger();
  const [held, next, other] = [sample("click", visitor), sample("payment", visitor), sample("payment")];
  const { append, clock, server, stored } = setUp((events) => events.includes(held) && isBusy(events));
  const waits: OutboxEvent[] = [];
  const outcomes: string[] = [];
  for (const event of [held, next, other])
    void append(event, () => waits.push(event)).then((outcome) => outcomes.push(outcome));

  await clock.pass(500);
  expect(stored).toEqual([other]);
  expect(outcomes).toEqual(["queued"]);
  expect(waits).toContain(held);

  server.attempt = isFree;
  await clock.pass(50);
  expect(stored).toEqual([other, held, next]);
  expect(outcomes).toEqual(["queued", "queued", "queued"]);
});

test("a look at what is held holds up no event that comes with it", async () => {
  const held = sample("payment");
  const calls: (readonly OutboxEvent[])[] = [];
  const { append, clock } = setUp((events) => {
    calls.push(events);
    if (events.includes(held)) throw BUSY;
  });
  void append(held);
  await clock.pass(0);

  const other = sample("payment");
  clock.after(50, () => void append(other));
  await clock.pass(50);
  expect(calls).toEqual([[held], [other], [held]]);
});
