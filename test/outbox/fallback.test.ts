import type { OutboxEvent } from "express-affiliate";
import { beforeEach, expect, test } from "vitest";
import { createFallback, receiptTimes, type Storage } from "../../src/outbox/fallback.js";
import type { Claim, Verdict } from "../../src/outbox/outbox.js";
import { heapSizeOf } from "../../src/outbox/shedding.js";
import { sample } from "../contract/samples.js";
import { capacityOf } from "../helpers/deliver.js";
import { FakeClock } from "../helpers/fake-clock.js";

const DELIVERED: Verdict = { type: "delivered" };
const claim = { event: sample("click") } as Claim;

beforeEach(() => {
  receiptTimes.withinMs = 1_000;
});

/** A storage that fails, or does not answer, when a test says so. */
function setUp(maxBytes = 1_000_000) {
  const stored: OutboxEvent[] = [];
  const settled: Verdict[] = [];
  const said: string[] = [];
  const clock = new FakeClock();
  const state = { fails: false, isAnothers: false };
  const claimed = { times: 0, again: () => {} };
  const unanswered: {
    resolve(outcome: "queued" | "duplicate" | "full"): void;
    reject(error: Error): void;
  }[] = [];
  const orFail = async <T>(result: () => T) => {
    if (state.fails) throw new Error("disk full");
    return result();
  };
  const storage: Storage<Claim> = {
    append: (event) => orFail(() => stored.push(event)).then(() => "queued"),
    claim() {
      claimed.times++;
      return orFail(() => [claim]);
    },
    settle: (_claim, verdict) => orFail(() => settled.push(verdict)).then(() => !state.isAnothers),
  };
  const fallback = createFallback(storage, {
    maxBytes,
    pollMs: 1_000,
    clock,
    wake: () => claimed.again(),
    observer: {
      dropped: ({ kind }, reason) => said.push(`dropped ${kind} ${reason}`),
      degraded: ({ message }) => said.push(`degraded ${message}`),
      recovered: () => said.push("recovered"),
    },
  });
  /** From here on the storage takes events, and does not answer. */
  const silence = () => {
    storage.append = (event) => {
      stored.push(event);
      return new Promise((resolve, reject) => unanswered.push({ resolve, reject }));
    };
  };
  const whileFailing = async (call: () => Promise<unknown>) => {
    state.fails = true;
    await call();
    state.fails = false;
  };
  const claimOne = () => fallback.claim(capacityOf(1));
  return {
    fallback: Object.assign(fallback, { storage }),
    ...{ stored, settled, said, state, clock, whileFailing, claimOne, silence, unanswered, claimed },
  };
}

test("an event that waits for a host's open transaction holds up no recovery, and is stored once it has failed there", async () => {
  const { fallback, stored, said, clock, whileFailing, claimOne, unanswered } = setUp();
  const [waiting, other] = [sample("payment"), sample("payment")];
  await whileFailing(() => Promise.all([waiting, other].map((event) => fallback.add(event))));
  fallback.storage.append = (event, waits) => {
    if (event === waiting && unanswered.length === 0) {
      waits?.();
      return new Promise((resolve, reject) => unanswered.push({ resolve, reject }));
    }
    stored.push(event);
    return Promise.resolve("queued");
  };

  await clock.pass(1_000);
  expect(stored).toEqual([other]);
  expect(await claimOne()).toHaveLength(1);
  expect(said).toEqual(["degraded disk full", "recovered"]);
  expect(fallback.length).toBe(1);

  unanswered[0]?.reject(new Error("connection lost"));
  await clock.pass(2_000);
  expect(said.slice(2, 3)).toEqual(["degraded connection lost"]);
  expect(stored).toEqual([other, waiting]);
  expect(fallback.length).toBe(0);
});

test("the fallback keeps in memory what the storage cannot take, claims nothing, and takes all there in order when it has recovered", async () => {
  const { fallback, stored, said, state, clock, claimOne } = setUp();
  const events = Array.from({ length: 501 }, () => sample("payment"));
  const last = events.at(-1) as OutboxEvent;
  state.fails = true;

  const outcomes = await Promise.all(events.slice(0, -1).map((event) => fallback.add(event)));

  expect(new Set(outcomes)).toEqual(new Set(["in-memory"]));
  expect(fallback.length).toBe(500);
  expect(fallback.problem?.message).toBe("disk full");
  expect(await claimOne()).toEqual([]);
  await clock.pass(1_000);
  expect(stored).toEqual([]);
  state.fails = false;
  // Nothing overtakes what waits.
  expect(await fallback.add(last)).toBe("in-memory");
  expect(await fallback.add(last)).toBe("duplicate");
  await clock.pass(2_000);
  expect(stored).toEqual(events);
  expect(fallback.length).toBe(0);
  expect(fallback.problem).toBeUndefined();
  expect(await claimOne()).toHaveLength(1);
  expect(await fallback.add(sample("payment"))).toBe("queued");
  expect(said).toEqual(["degraded disk full", "recovered"]);
});

test("the fallback stores what comes at the moment at which the storage is found to work again", async () => {
  const { fallback, stored, clock, whileFailing, claimOne } = setUp();
  const event = sample("payment");
  await whileFailing(claimOne);
  clock.after(1_000, () => void fallback.add(event));

  await clock.pass(1_000);

  expect(stored).toEqual([event]);
  expect(fallback.length).toBe(0);
});

test("the fallback says once that the storage fails, and that it works once a call has worked; looks at it less and less often", async () => {
  const { fallback, said, state, clock, claimed, claimOne } = setUp();
  // As the relay does: whenever it hears that something may be claimed.
  claimed.again = () => void claimOne();
  state.fails = true;
  await claimOne();
  await clock.pass(200_000);

  expect(said).toEqual(["degraded disk full"]);
  expect(fallback.problem?.message).toBe("disk full");
  // After 1, 2, 4, 8, 16 seconds, and then every 30.
  expect(claimed.times).toBe(1 + 5 + 5);

  state.fails = false;
  await clock.pass(30_000);
  expect(said).toEqual(["degraded disk full", "recovered"]);
  expect(fallback.problem).toBeUndefined();
});

test("the fallback takes an event while it is not known yet whether claims work again", async () => {
  const { fallback, said, clock, stored, whileFailing, claimOne } = setUp();
  await whileFailing(claimOne);
  await clock.pass(1_000);

  expect(await fallback.add(sample("payment"))).toBe("queued");

  expect(stored).toHaveLength(1);
  expect(said).toEqual(["degraded disk full"]);
});

test("the fallback waits longer from one recovery to the next if each is short, and no longer if one has lasted", async () => {
  const { fallback, said, clock, stored, whileFailing } = setUp();
  const failAgain = async (afterMs: number) => {
    await whileFailing(() => fallback.add(sample("payment")));
    const before = stored.length;
    await clock.pass(afterMs - 1);
    expect(stored.length).toBe(before);
    await clock.pass(1);
    expect(stored.length).toBe(before + 1);
  };

  for (const pauseMs of [1_000, 2_000, 4_000, 8_000]) await failAgain(pauseMs);
  await clock.pass(10_000);
  await failAgain(1_000);

  expect(said).toHaveLength(10);
});

test("the fallback ends the wait for a verdict that is not stored when it is closed, looks at the storage no more, and takes what comes later in memory", async () => {
  const { fallback, settled, said, state, clock } = setUp();
  state.fails = true;
  const settling = fallback.settle(claim, DELIVERED);
  const added = fallback.add(sample("payment"));
  await clock.pass(100);

  await fallback.close();

  expect(await settling).toBe(false);
  expect(await fallback.settle(claim, DELIVERED)).toBe(false);
  expect(await added).toBe("in-memory");
  expect(await fallback.add(sample("payment"))).toBe("in-memory");
  expect(settled).toEqual([]);
  expect(said).toEqual(["degraded disk full"]);
  expect(clock.pending).toBe(0);
});

test.each([true, false])(
  "the fallback remembers verdicts that could not be written, writes them before anything else, and says whether they had an effect: %s",
  async (hasEffect) => {
    const { fallback, settled, state, clock } = setUp();
    const verdicts: Verdict[] = [DELIVERED, { type: "release" }];
    state.fails = true;
    state.isAnothers = !hasEffect;

    void fallback.add(sample("payment"));
    const settling = verdicts.map((verdict) => fallback.settle(claim, verdict));
    await clock.pass(1_000);
    expect(settled).toEqual([]);
    state.fails = false;
    fallback.storage.append = async () => {
      expect(settled).toEqual(verdicts);
      return "queued";
    };
    await clock.pass(2_000);

    expect(await Promise.all(settling)).toEqual([hasEffect, hasEffect]);
    expect(fallback.length).toBe(0);
  },
);

test("the fallback is bounded: sheds clicks first, then registrations, payments last", async () => {
  const { fallback, said, state } = setUp(3 * heapSizeOf(sample("click")));
  state.fails = true;
  for (const kind of ["click", "registration", "click"] as const) await fallback.add(sample(kind));
  said.length = 0;
  expect(await fallback.add(sample("click"))).toBe("full");
  for (let nth = 0; nth < 3; nth++) expect(await fallback.add(sample("payment"))).toBe("in-memory");
  expect(await fallback.add(sample("registration"))).toBe("full");
  expect(said).toEqual(["dropped click full", "dropped click full", "dropped registration full"]);
});

test("the fallback looks at the same few events to shed one, however many wait", async () => {
  const looksWith = async (waiting: number) => {
    const [payment, click] = [heapSizeOf(sample("payment")), heapSizeOf(sample("click"))];
    const { fallback, said, state } = setUp(waiting * payment + click);
    state.fails = true;
    let looks = 0;
    for (let n = 0; n < waiting; n++) {
      const event = sample("payment");
      await fallback.add({
        ...event,
        get kind() {
          looks++;
          return event.kind;
        },
      } as OutboxEvent);
    }
    await fallback.add(sample("click"));
    looks = 0;
    expect(await fallback.add(sample("payment"))).toBe("in-memory");
    expect(await fallback.add(sample("payment"))).toBe("full");
    expect(said).toEqual(["degraded disk full", "dropped click full"]);
    return looks;
  };
  expect(await looksWith(1_000)).toBe(await looksWith(10));
});

test("the fallback makes its last attempt a tick after a failure: a storage may refuse all calls until then", async () => {
  const { fallback, stored, unanswered, silence } = setUp();
  const [first, second] = [sample("payment"), sample("payment")];
  silence();
  const added = [first, second].map((event) => fallback.add(event));
  const closed = fallback.close();
  // As the disk outbox does if its thread ends.
  let refuses = true;
  fallback.storage.append = async (event) => {
    if (refuses) throw new Error("its thread ended");
    stored.push(event);
    return "queued";
  };
  setImmediate(() => {
    refuses = false;
  });
  stored.length = 0;
  for (const { reject } of unanswered) reject(new Error("its thread ended"));
  await closed;

  expect(await Promise.all(added)).toEqual(["in-memory", "in-memory"]);
  expect(stored).toEqual([first, second]);
});

test.each<{ answers: (Error | "queued" | "duplicate" | "full")[]; means: string[] }>([
  { answers: ["queued"], means: [] },
  { answers: ["duplicate"], means: [] },
  { answers: ["full"], means: ["dropped payment full"] },
  { answers: [new Error("no answer"), "queued"], means: ["degraded no answer", "recovered"] },
])(
  "the fallback gives the receipt after a second if the storage does not answer, and keeps the event until it does: $means",
  async ({ answers, means }) => {
    const { fallback, stored, said, clock, silence, unanswered } = setUp();
    const event = sample("payment");
    const receipts: string[] = [];
    silence();

    void fallback.add(event).then((outcome) => receipts.push(outcome));
    await clock.pass(999);
    expect(receipts).toEqual([]);
    await clock.pass(1);
    expect(receipts).toEqual(["in-memory"]);
    expect(await fallback.add(event)).toBe("duplicate");

    for (const answer of answers) {
      expect(fallback.length).toBe(1);
      const { resolve, reject } = unanswered.shift() as (typeof unanswered)[number];
      if (answer instanceof Error) reject(answer);
      else resolve(answer);
      await clock.pass(1_000);
    }
    expect(fallback.length).toBe(0);
    expect(stored).toEqual(answers.map(() => event));
    expect(said).toEqual(means);
  },
);

test("the fallback does not store an event a second time while the first call is under way", async () => {
  const { fallback, stored, said, clock, whileFailing, claimOne, silence, unanswered } = setUp();
  const event = sample("payment");
  silence();
  void fallback.add(event);
  await whileFailing(claimOne);

  await clock.pass(1_000);
  expect(stored).toEqual([event]);
  unanswered[0]?.resolve("queued");
  await clock.pass(0);
  await claimOne();

  expect(said).toEqual(["degraded disk full", "recovered"]);
  expect(fallback.length).toBe(0);
});

test("a new event is not claimed before its caller has the receipt, which may be the process's last word", async () => {
  const { fallback, claimed, silence, unanswered } = setUp();
  const order: string[] = [];
  claimed.again = () => setImmediate(() => order.push("claimed"));
  silence();
  const added = fallback.add(sample("payment")).then(() => order.push("receipt"));
  await new Promise((resolve) => setImmediate(resolve));
  expect(order).toEqual([]);
  unanswered[0]?.resolve("queued");
  await added;
  await expect.poll(() => order).toEqual(["receipt", "claimed"]);
});
