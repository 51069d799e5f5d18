import { type Claim, type OutboxParts, testOutbox } from "express-affiliate/outbox";
import { expect, test, vi } from "vitest";
import { UNTRIED } from "../../src/outbox/claim.js";
import { createOutbox } from "../../src/outbox/create-outbox.js";
import { sample } from "../../src/testing/contract/samples.js";
import { delivering, deliveringAll } from "../helpers/deliver.js";
import { FakeClock } from "../helpers/fake-clock.js";
import { storesNothing } from "../helpers/outbox-parts.js";
import { withResolvers } from "../helpers/with-resolvers.js";

/** The parts of an outbox that holds nothing. */
const partsOf = (changed: Partial<OutboxParts> = {}): OutboxParts => ({
  ...storesNothing,
  name: "redis",
  ...changed,
});

const silent = { dropped() {}, degraded() {}, recovered() {} };

test("says at the start which part is missing or wrong", () => {
  const parts = { ...partsOf(), name: "", append: undefined, pollMs: 0 };

  expect(() => createOutbox(parts as never)).toThrow(
    /`name` must be a name.*`pollMs`.*`append` is required/s,
  );
});

test("a test of `testOutbox` that fails says what the store has failed with", async () => {
  const append = () => Promise.reject(new Error("WRONGTYPE"));
  const tests: (() => Promise<void>)[] = [];
  const runner = {
    describe: (_: string, body: () => void) => body(),
    it: (_: string, body: () => Promise<void>) => tests.push(body),
  };
  testOutbox("broken", { create: () => createOutbox(partsOf({ append })) }, runner);

  await expect(tests[0]?.()).rejects.toThrow(/in-memory.*\nThe store has failed: WRONGTYPE/s);
});

test("takes a class whose methods need their `this`", async () => {
  class Parts {
    readonly name = "redis";
    readonly ids: string[] = [];
    readonly deadLetters = partsOf().deadLetters;
    async append({ id }: { readonly id: string }) {
      this.ids.push(id);
      return "queued" as const;
    }
    claim = partsOf().claim;
    settle = partsOf().settle;
    counts = partsOf().counts;
  }
  const parts = new Parts();
  const event = sample("payment");

  expect(await createOutbox(parts).add(event)).toBe("queued");
  expect(parts.ids).toEqual([event.id]);
});

test("asks the store for events again every `pollMs`, until it is closed", async () => {
  const clock = new FakeClock();
  const claim = vi.fn(async () => []);
  const outbox = createOutbox(partsOf({ pollMs: 500, claim }), clock);
  outbox.start(deliveringAll(), silent);
  await clock.pass(0);
  expect(claim).toHaveBeenCalledTimes(1);

  await clock.pass(1_000);
  expect(claim).toHaveBeenCalledTimes(3);
  await outbox.close();
  await clock.pass(10_000);
  expect(claim).toHaveBeenCalledTimes(3);
});

test("is durable unless its parts say otherwise", () => {
  expect(createOutbox(partsOf()).durable).toBe(true);
  expect(createOutbox(partsOf({ durable: false })).durable).toBe(false);
});

test("refuses a transaction by its name, and takes part in one if it can", async () => {
  await expect(createOutbox(partsOf()).add(sample("click"), { transaction: {} })).rejects.toMatchObject({
    code: "ERR_AFFILIATE_TRANSACTION",
    message: expect.stringMatching(/^redisOutbox: /),
  });

  const joined: unknown[] = [];
  const appendIn = async (transaction: unknown) => {
    joined.push(transaction);
    return "queued" as const;
  };
  const transaction = {};
  expect(await createOutbox(partsOf({ appendIn })).add(sample("click"), { transaction })).toBe("queued");
  expect(joined).toEqual([transaction]);
});

test("calls the observer with an event that the store has shed before there was an observer", async () => {
  const [event, shed] = [sample("payment"), sample("click")];
  const append: OutboxParts["append"] = async (_event, { dropped }) => {
    dropped(shed, "full");
    return "queued";
  };
  const outbox = createOutbox(partsOf({ append }));
  await outbox.add(event);
  const told: unknown[] = [];

  outbox.start(deliveringAll(), { ...silent, dropped: (each, reason) => told.push([each, reason]) });

  expect(told).toEqual([[shed, "full"]]);
  await outbox.close();
  await expect(outbox.add(event)).rejects.toMatchObject({ code: "ERR_AFFILIATE_OUTBOX_CLOSED" });
});

/** An outbox whose one event is delivered. Returns the verdicts that listeners get, too. */
function startOne(settle: OutboxParts["settle"], clock = new FakeClock()) {
  const waiting = [{ event: sample("payment"), history: UNTRIED } as Claim];
  const told: string[] = [];
  const outbox = createOutbox(partsOf({ claim: async () => waiting.splice(0), settle }), clock);
  const deliver = delivering(
    async () => ({ type: "delivered" }),
    () => 1,
    (_event, _attempts, { type }) => told.push(type),
  );
  outbox.start(deliver, silent);
  return { outbox, told };
}

test.each([
  { answer: false, expected: [] },
  { answer: undefined, expected: ["delivered"] },
])("tells of a verdict unless `settle` says that it had no effect: $answer", async ({ answer, expected }) => {
  const settle = vi.fn(async () => answer);
  const { outbox, told } = startOne(settle);
  await expect.poll(() => settle.mock.calls).toHaveLength(1);

  await outbox.close();

  expect(told).toEqual(expected);
});

test.each([
  { closes: "while the store fails", works: false, expected: [] },
  { closes: "as soon as it works again", works: true, expected: ["delivered"] },
])("tells of a delivered event once that is stored, and is closed $closes", async ({ works, expected }) => {
  const clock = new FakeClock();
  let fails = true;
  const asked = withResolvers();
  const { outbox, told } = startOne(async () => {
    asked.resolve();
    if (fails) throw new Error("no answer");
  }, clock);
  await asked.promise;
  await clock.pass(5_000);
  expect(told).toEqual([]);
  fails = !works;

  await outbox.close();

  expect(told).toEqual(expected);
});
