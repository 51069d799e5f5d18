import { setImmediate } from "node:timers/promises";
import type { OutboxEvent } from "express-affiliate";
import fc from "fast-check";
import { expect, test } from "vitest";
import { createBound } from "../../../src/outbox/queue/bound.js";
import {
  type CountRow,
  type Counts,
  changeOf,
  countsOf,
  createCounts,
  storedChange,
} from "../../../src/outbox/queue/counts.js";
import { Scope } from "../../../src/outbox/queue/database.js";
import { DESTINATION, sample } from "../../contract/samples.js";
import { forAnyAsync } from "../../helpers/for-any.js";

/** When the server commits it, and when the process gets the answer, is a test's choice. */
interface Request {
  commit(): void;
  answer(): Promise<unknown>;
}

function request(commit: () => unknown, work: (answered: Promise<void>) => Promise<unknown>): Request {
  let answer = () => {};
  const ended = work(new Promise((resolve) => (answer = resolve)));
  return {
    commit,
    answer() {
      answer();
      return ended;
    },
  };
}

/** Events in a server that counts them, and a process that changes them. */
function world(backlog: number) {
  const stored = new Set<OutboxEvent>(Array.from({ length: backlog }, () => sample("payment")));
  /** Those that this process may settle. */
  const known = [...stored];
  const scope = new Scope(DESTINATION);
  let counted: Promise<CountRow[]> = Promise.resolve([]);
  const counts = createCounts(() => counted, scope);
  let coming = 0;

  return {
    stored,
    /** What an outbox says: it adds the events that are on their way to the storage. */
    queued: () => countsOf(counts.rows, scope).queued + coming,
    add(): Request {
      const event = sample("payment");
      coming++;
      return request(
        () => stored.add(event),
        async (answered) => {
          await counts.during(
            () => answered,
            () => [storedChange(event, Date.now())],
          );
          known.push(event);
          coming--;
        },
      );
    },
    settle(): Request {
      const event = known.shift();
      if (!event) return request(ignore, async () => {});
      return request(
        () => stored.delete(event),
        (answered) =>
          counts.during(
            () => answered,
            () => [changeOf(event, "queued", -1)],
          ),
      );
    },
    count(): Request {
      let number = 0;
      const payment = { destination: DESTINATION, kind: "payment" } as const;
      return request(
        () => (number = stored.size),
        (answered) => {
          counted = answered.then(() => [changeOf(payment, "queued", number, { at: 1 })]);
          return counts.take();
        },
      );
    },
  };
}

const steps = fc.array(
  fc.record({
    does: fc.constantFrom("add", "add", "settle", "settle", "count", "commit", "commit", "answer", "answer"),
    nth: fc.nat(100),
  } as const),
  { maxLength: 150, size: "max" },
);

test("the number of events, whenever it is counted, is never less than what waits, and in the end it is right", async () => {
  await forAnyAsync(fc.nat(20), steps, async (backlog, all) => {
    const { stored, queued, ...calls } = world(backlog);
    const begun: Request[] = [];
    const committed: Request[] = [];
    let counting: Request | undefined;
    let isCounted = false;
    const answer = async (each: Request) => {
      await each.answer();
      if (each !== counting) return;
      counting = undefined;
      isCounted = true;
    };
    for (const { does, nth } of all) {
      if (does === "commit") {
        for (const each of begun.splice(nth % (begun.length + 1), 1)) {
          each.commit();
          committed.push(each);
        }
      } else if (does === "answer") {
        for (const each of committed.splice(nth % (committed.length + 1), 1)) await answer(each);
      } else if (does !== "count" || !counting) {
        const each = calls[does]();
        begun.push(each);
        if (does === "count") counting = each;
      }
      // Until the server is asked.
      await Promise.resolve();
      if (isCounted) expect(queued()).toBeGreaterThanOrEqual(stored.size);
    }
    for (const each of begun) each.commit();
    for (const each of [...committed, ...begun]) await answer(each);

    const last = calls.count();
    await Promise.resolve();
    last.commit();
    await last.answer();
    expect(queued()).toBe(stored.size);
  });
});

/** Whether an outbox of eight events takes a payment. Rejects if it sheds for it. */
async function takesPayment(counts: Counts): Promise<boolean> {
  const shed = () => Promise.reject(new Error("there is space"));
  const payment = sample("payment");
  const knownOf = async () => new Set<never>();
  const makeSpace = createBound({ maxEvents: 8, counts, knownOf, shed, onShed: ignore });
  return (await makeSpace([payment])).fitting.has(payment);
}

test("an outbox refuses no event because the server counted others before their receipts came", async () => {
  const stored = Array.from({ length: 5 }, () => storedChange(sample("click"), Date.now()));
  const counts = createCounts(async () => stored, new Scope(DESTINATION));
  // Work that changes nothing makes it count no more often.
  await counts.during(counts.take, () => []);
  expect(counts.mayBeTooHigh()).toBe(false);

  // The count is answered before the receipts of what it includes.
  await counts.during(counts.take, () => stored);

  expect(await takesPayment(counts)).toBe(true);
});

test("an outbox neither sheds nor refuses an event because the server counted meanwhile", async () => {
  const clicks = Array.from({ length: 8 }, () => sample("click"));
  const added = clicks.map((event) => storedChange(event, Date.now()));
  const meanwhile = [...added];
  const counts = createCounts(async () => {
    for (const each of meanwhile.splice(0)) counts.add(each);
    return added.slice(0, 7);
  }, new Scope(DESTINATION));
  await counts.take();

  expect(await takesPayment(counts)).toBe(true);
});

test("an outbox whose bound was lowered sheds 1,000 in a statement, and no more than it needs while the server counts", async () => {
  const clicks = Array.from({ length: 3_000 }, () => sample("click"));
  const counts = createCounts(async () => {
    const seen = clicks.map((click) => storedChange(click, Date.now()));
    await setImmediate();
    return seen;
  }, new Scope(DESTINATION));
  await counts.take();
  const asked: number[] = [];
  const shed = async (_events: unknown, _urgency: unknown, most: number) => {
    // It counts what the first shedding removes, and answers before the second one.
    if (asked.length === 0) void counts.take();
    for (let turn = 0; turn < 5; turn++) await undefined;
    if (asked.length > 0) await setImmediate();
    asked.push(most);
    return clicks.splice(0, most);
  };
  const knownOf = async () => new Set<never>();
  const makeSpace = createBound({ maxEvents: 1_500, counts, knownOf, shed, onShed: ignore });

  const payment = sample("payment");
  expect((await makeSpace([payment])).fitting).toEqual(new Set([payment]));
  expect(asked).toEqual([1_000, 501]);
});

function ignore(): void {}

test("in a full outbox, an event that is known is no new one for which space is made, even if it is shed for another one", async () => {
  const [click, payment] = [sample("click"), sample("payment")];
  const counts = createCounts(async () => [storedChange(click, Date.now())], new Scope(DESTINATION));
  await counts.take();
  const shed = async () => [click];
  const knownOf = async () => new Set([click]);
  const makeSpace = createBound({ maxEvents: 1, counts, knownOf, shed, onShed: ignore });

  expect(await makeSpace([click, payment])).toEqual({ fitting: new Set([payment]), known: new Set([click]) });
});
