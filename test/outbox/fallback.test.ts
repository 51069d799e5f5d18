import { expect, test } from "vitest";
import type { OutboxEvent } from "../../src/events.js";
import { createFallback, type Storage } from "../../src/outbox/fallback.js";
import type { Claim, Verdict } from "../../src/outbox/outbox.js";
import { sizeOf } from "../../src/outbox/shedding.js";
import { sample } from "../../src/testing/contract/samples.js";
import { capacityOf } from "../helpers/deliver.js";

/** A storage that can fail, and a clock that goes on when it is told to. */
function setUp(maxBytes = 1_000_000) {
  const stored: OutboxEvent[] = [];
  const settled: Verdict[] = [];
  const said: string[] = [];
  const tasks: (() => void)[] = [];
  const state = { fails: false };
  const orFail = async <T>(result: () => T) => {
    if (state.fails) throw new Error("disk full");
    return result();
  };
  const storage: Storage<Claim> = {
    append: (event) => orFail(() => stored.push(event)).then(() => "queued"),
    claim: () => orFail(() => [{ event: sample("click") } as Claim]),
    settle: (_claim, verdict) => orFail(() => settled.push(verdict)).then(() => {}),
  };
  const fallback = createFallback(storage, {
    maxBytes,
    clock: {
      now: () => 0,
      monotonic: () => 0,
      after(_ms, task) {
        tasks.push(task);
        return () => tasks.splice(tasks.indexOf(task), 1);
      },
    },
    onStored() {},
    observer: {
      dropped: ({ kind }, reason) => said.push(`dropped ${kind} ${reason}`),
      degraded: ({ message }) => said.push(`degraded ${message}`),
      recovered: () => said.push("recovered"),
    },
  });
  /** Lives until the next look at the storage, and through it. */
  const look = async () => {
    tasks.shift()?.();
    await new Promise(setImmediate);
  };
  return { fallback, stored, settled, said, state, look, tasks };
}

test("keeps in memory what the storage cannot take, and takes it there in order when it has recovered", async () => {
  const { fallback, stored, said, state, look } = setUp();
  const events = Array.from({ length: 500 }, () => sample("payment"));
  state.fails = true;

  const outcomes = await Promise.all(events.map((event) => fallback.add(event)));

  expect(new Set(outcomes)).toEqual(new Set(["in-memory"]));
  expect(fallback.length).toBe(500);
  expect(fallback.trouble?.message).toBe("disk full");
  await look();
  expect(stored).toEqual([]);
  state.fails = false;
  await look();
  expect(stored).toEqual(events);
  expect(fallback.length).toBe(0);
  expect(fallback.trouble).toBeUndefined();
  expect(said).toEqual(["degraded disk full", "recovered"]);
});

test("lets nothing overtake what waits in memory", async () => {
  const { fallback, stored, state, look } = setUp();
  const [before, after] = [sample("payment"), sample("payment")];
  state.fails = true;
  await fallback.add(before);
  state.fails = false;

  expect(await fallback.add(after)).toBe("in-memory");
  expect(await fallback.add(before)).toBe("duplicate");

  await look();
  expect(stored).toEqual([before, after]);
  expect(await fallback.add(sample("payment"))).toBe("queued");
});

test("claims nothing while there is trouble", async () => {
  const { fallback, state, look } = setUp();
  expect(await fallback.claim(capacityOf(1))).toHaveLength(1);
  state.fails = true;
  expect(await fallback.claim(capacityOf(1))).toEqual([]);
  state.fails = false;
  expect(await fallback.claim(capacityOf(1))).toEqual([]);
  await look();
  expect(await fallback.claim(capacityOf(1))).toHaveLength(1);
});

test("remembers verdicts that could not be written, and writes them before anything else", async () => {
  const { fallback, settled, state, look } = setUp();
  const claim = { event: sample("click") } as Claim;
  state.fails = true;

  await fallback.settle(claim, { type: "delivered" });
  await fallback.settle(claim, { type: "release" });
  state.fails = false;
  await look();

  expect(settled).toEqual([{ type: "delivered" }, { type: "release" }]);
});

test("is bounded: sheds clicks first, then registrations, payments last", async () => {
  const { fallback, said, state } = setUp(3 * sizeOf(sample("click")));
  state.fails = true;
  for (const kind of ["click", "registration", "click"] as const) await fallback.add(sample(kind));
  said.length = 0;

  expect(await fallback.add(sample("click"))).toBe("full");
  for (let nth = 0; nth < 3; nth++) expect(await fallback.add(sample("payment"))).toBe("in-memory");
  expect(await fallback.add(sample("registration"))).toBe("full");
  expect(said).toEqual(["dropped click full", "dropped click full", "dropped registration full"]);
});

test("makes a last attempt when it is closed", async () => {
  const { fallback, stored, state } = setUp();
  const event = sample("payment");
  state.fails = true;
  await fallback.add(event);
  state.fails = false;

  await fallback.close();

  expect(stored).toEqual([event]);
});

test("looks at the storage no more once it is closed, whatever fails afterwards", async () => {
  const { fallback, state, tasks } = setUp();
  state.fails = true;
  const added = fallback.add(sample("payment"));

  await fallback.close();

  expect(await added).toBe("in-memory");
  expect(await fallback.add(sample("payment"))).toBe("in-memory");
  expect(tasks).toEqual([]);
});
