import { expect, test } from "vitest";
import type { OutboxCounts } from "../../src/outbox/counts.js";
import type { DurableStorage } from "../../src/outbox/durable.js";
import { type Claim, UNTRIED } from "../../src/outbox/outbox.js";
import { sample } from "../contract/samples.js";
import { delivering, deliveringAll } from "../helpers/deliver.js";
import { FakeClock } from "../helpers/fake-clock.js";
import { overStorage } from "../helpers/played-storage.js";
import { withResolvers } from "../helpers/with-resolvers.js";

const silent = { dropped() {}, degraded() {}, recovered() {} };

test("a storage that takes part in no transaction refuses one by its name, another takes part", async () => {
  await expect(overStorage().outbox.add(sample("click"), { transaction: {} })).rejects.toMatchObject({
    code: "ERR_AFFILIATE_TRANSACTION",
    message: expect.stringMatching(/^playedOutbox: /),
  });

  const joined: unknown[] = [];
  const appendIn = async (transaction: unknown) => {
    joined.push(transaction);
    return "queued" as const;
  };
  const transaction = {};
  expect(await overStorage({ appendIn }).outbox.add(sample("click"), { transaction })).toBe("queued");
  expect(joined).toEqual([transaction]);
});

test("an observer gets the event that the storage has shed before there was an observer", async () => {
  const shed = sample("click");
  const { outbox, notify } = overStorage();
  notify((to) => to.dropped(shed, "full"));
  const told: unknown[] = [];

  outbox.start(deliveringAll(), { ...silent, dropped: (...dropped) => told.push(dropped) });

  expect(told).toEqual([[shed, "full"]]);
  await outbox.close();
  await expect(outbox.add(shed)).rejects.toMatchObject({ code: "ERR_AFFILIATE_OUTBOX_CLOSED" });
});

test("an outbox does not say how many of each kind wait while some wait in memory", async () => {
  const byKind = { payment: { queued: 1, oldest: 0 } } as Required<OutboxCounts>["byKind"];
  const { outbox } = overStorage({
    counts: () => ({ queued: 1, oldest: 0, byKind, dead: { rejected: 0, unconfirmed: 0, expired: 0 } }),
    append: () => Promise.reject(new Error("the disk fails")),
  });
  expect(outbox.counts()).toMatchObject({ byKind });
  await outbox.add(sample("payment"));
  expect(outbox.counts()).toMatchObject({ queued: 2, trouble: "the disk fails" });
  expect(outbox.counts().byKind).toBeUndefined();
  await outbox.close();
});

/** An outbox whose one event is delivered. Returns the verdicts that listeners get, too. */
function startOne(settle: DurableStorage<Claim>["settle"], clock = new FakeClock()) {
  const waiting = [{ event: sample("payment"), history: UNTRIED } as Claim];
  const told: string[] = [];
  const { outbox } = overStorage({ claim: async () => waiting.splice(0), settle }, clock);
  const deliver = delivering(
    async () => ({ type: "delivered" }),
    () => 1,
    (_event, _attempts, { type }) => told.push(type),
  );
  outbox.start(deliver, silent);
  outbox.wake();
  return { outbox, told };
}

test.each([
  { closes: "while the store fails", works: false, expected: [] },
  { closes: "as soon as it works again", works: true, expected: ["delivered"] },
])(
  "listeners get a delivered event once that is stored, if the outbox is closed $closes",
  async ({ works, expected }) => {
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
  },
);
