import type { OutboxEvent } from "express-affiliate";
import { expect, test } from "vitest";
import { createAppend } from "../../../src/outbox/queue/append.js";
import { paying, sample, stranger } from "../../contract/samples.js";
import { FakeClock } from "../../helpers/fake-clock.js";

type Attempt = (events: readonly OutboxEvent[]) => void | Promise<void>;

const BUSY = new Error("it waits for another transaction");

/** A server that another transaction holds up, as a test says. */
function setUp(attempt: Attempt) {
  const clock = new FakeClock();
  const server = { attempt };
  const stored: OutboxEvent[] = [];
  const { append, stop } = createAppend({
    clock,
    isBusy: (error) => error === BUSY,
    async attempt(events) {
      await server.attempt(events);
      stored.push(...events);
      return events.map(() => "queued");
    },
  });
  return { append, stop, clock, server, stored };
}

test("an event that the server keeps waiting is found by storing each alone, and delays only its visitor's events", async () => {
  const visitor = stranger();
  const [held, next, other] = [sample("click", visitor), sample("payment", visitor), sample("payment")];
  const { append, clock, server, stored } = setUp((events) => {
    if (events.includes(held)) throw BUSY;
  });
  const waits: OutboxEvent[] = [];
  const outcomes: string[] = [];
  for (const event of [held, next, other])
    void append(event, () => waits.push(event)).then((outcome) => outcomes.push(outcome));

  await clock.pass(500);
  expect(stored).toEqual([other]);
  expect(outcomes).toEqual(["queued"]);
  expect(waits).toContain(held);

  server.attempt = () => {};
  await clock.pass(50);
  expect(stored).toEqual([other, held, next]);
  expect(outcomes).toEqual(["queued", "queued", "queued"]);
});

test("what is held holds up no event that comes later, however long the server makes a look at it wait", async () => {
  const held = Array.from({ length: 3 }, () => sample("payment"));
  const { append, clock, stored } = setUp(async (events) => {
    if (!events.some((event) => held.includes(event))) return;
    await new Promise<void>((resolve) => clock.after(500, resolve));
    throw BUSY;
  });
  for (const event of held) void append(event);
  await clock.pass(3_000);

  for (let number = 1; number <= 100; number++) {
    void append(sample("payment"));
    await clock.pass(20);
    expect(stored).toHaveLength(number);
  }
});

test("what waits is stored while the outbox closes, or is given up if the server is away", async () => {
  const [first, second] = [sample("payment"), sample("payment")];
  const { append, stop, clock, server, stored } = setUp(() => {
    throw BUSY;
  });
  const outcomes = Promise.allSettled([first, second].map((event) => append(event)));
  await clock.pass(500);
  stop();
  await clock.pass(10_000);

  server.attempt = ([event]) => {
    if (event === second) throw new Error("the server is away");
  };
  await clock.pass(2_000);
  expect(stored).toEqual([first]);
  expect((await outcomes).map(({ status }) => status)).toEqual(["fulfilled", "rejected"]);
});

test("if a look fails, what waits keeps its place before what comes behind it", async () => {
  const [held, next, last] = paying();
  const { append, clock, server, stored } = setUp((events) => {
    if (events.includes(held)) throw BUSY;
  });
  for (const event of [held, next]) void append(event);
  await clock.pass(500);

  server.attempt = (events) => {
    if (events.includes(held)) throw new Error("the server is away");
  };
  await clock.pass(500);
  void append(last);
  await clock.pass(500);
  expect(stored).toEqual([]);

  server.attempt = () => {};
  await clock.pass(1_000);
  expect(stored).toEqual([held, next, last]);
});

test("what is stored before its batch fails is answered as stored", async () => {
  const [first, second, third] = [sample("payment"), sample("payment"), sample("payment")];
  const { append, clock } = setUp((events) => {
    if (events.length > 1) throw BUSY;
    if (events.includes(second)) throw new Error("the server is away");
  });
  const outcomes = Promise.allSettled([first, second, third].map((event) => append(event)));
  await clock.pass(0);
  expect((await outcomes).map(({ status }) => status)).toEqual(["fulfilled", "rejected", "rejected"]);
});
