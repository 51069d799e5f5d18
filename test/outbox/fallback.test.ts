import { expect, test } from "vitest";
import type { OutboxEvent } from "../../src/events.js";
import { createShelter, type Storage } from "../../src/outbox/fallback.js";
import { type Claim, sizeOf, type Verdict } from "../../src/outbox/outbox.js";
import { sample } from "../../src/testing/contract/samples.js";
import { capacityOf } from "../helpers/deliver.js";

/** A storage that can be taken ill, and a clock that goes on when it is told to. */
function setUp(maxBytes = 1_000_000) {
  const stored: OutboxEvent[] = [];
  const settled: Verdict[] = [];
  const said: string[] = [];
  const tasks: (() => void)[] = [];
  const state = { ill: false };
  const orFail = async <T>(result: () => T) => {
    if (state.ill) throw new Error("disk full");
    return result();
  };
  const storage: Storage<Claim> = {
    append: (event) => orFail(() => stored.push(event)).then(() => "queued"),
    claim: () => orFail(() => [{ event: sample("click") } as Claim]),
    settle: (_claim, verdict) => orFail(() => settled.push(verdict)).then(() => {}),
  };
  const shelter = createShelter(storage, {
    maxBytes,
    clock: {
      now: () => 0,
      monotonic: () => 0,
      after(_ms, task) {
        tasks.push(task);
        return () => tasks.splice(tasks.indexOf(task), 1);
      },
    },
    observer: {
      dropped: ({ kind }, reason) => said.push(`dropped ${kind} ${reason}`),
      troubled: ({ message }) => said.push(`troubled ${message}`),
      recovered: () => said.push("recovered"),
    },
  });
  /** Lives until the next look at the storage, and through it. */
  const look = async () => {
    tasks.shift()?.();
    await new Promise(setImmediate);
  };
  return { shelter, stored, settled, said, state, look, tasks };
}

test("keeps in memory what the storage cannot take, and takes it there in order when it is well again", async () => {
  const { shelter, stored, said, state, look } = setUp();
  const events = Array.from({ length: 500 }, () => sample("payment"));
  state.ill = true;

  const outcomes = await Promise.all(events.map((event) => shelter.add(event)));

  expect(new Set(outcomes)).toEqual(new Set(["sheltered"]));
  expect(shelter.length).toBe(500);
  expect(shelter.trouble?.message).toBe("disk full");
  await look();
  expect(stored).toEqual([]);
  state.ill = false;
  await look();
  expect(stored).toEqual(events);
  expect(shelter.length).toBe(0);
  expect(shelter.trouble).toBeUndefined();
  expect(said).toEqual(["troubled disk full", "recovered"]);
});

test("lets nothing overtake what waits in memory", async () => {
  const { shelter, stored, state, look } = setUp();
  const [before, after] = [sample("payment"), sample("payment")];
  state.ill = true;
  await shelter.add(before);
  state.ill = false;

  expect(await shelter.add(after)).toBe("sheltered");
  expect(await shelter.add(before)).toBe("duplicate");

  await look();
  expect(stored).toEqual([before, after]);
  expect(await shelter.add(sample("payment"))).toBe("queued");
});

test("claims nothing while there is trouble", async () => {
  const { shelter, state, look } = setUp();
  expect(await shelter.claim(capacityOf(1))).toHaveLength(1);
  state.ill = true;
  expect(await shelter.claim(capacityOf(1))).toEqual([]);
  state.ill = false;
  expect(await shelter.claim(capacityOf(1))).toEqual([]);
  await look();
  expect(await shelter.claim(capacityOf(1))).toHaveLength(1);
});

test("remembers verdicts that could not be written, and writes them before anything else", async () => {
  const { shelter, settled, state, look } = setUp();
  const claim = { event: sample("click") } as Claim;
  state.ill = true;

  await shelter.settle(claim, { type: "delivered" });
  await shelter.settle(claim, { type: "release" });
  state.ill = false;
  await look();

  expect(settled).toEqual([{ type: "delivered" }, { type: "release" }]);
});

test("is bounded: sheds clicks first, then registrations, payments last", async () => {
  const { shelter, said, state } = setUp(3 * sizeOf(sample("click")));
  state.ill = true;
  for (const kind of ["click", "registration", "click"] as const) await shelter.add(sample(kind));
  said.length = 0;

  expect(await shelter.add(sample("click"))).toBe("full");
  for (let nth = 0; nth < 3; nth++) expect(await shelter.add(sample("payment"))).toBe("sheltered");
  expect(await shelter.add(sample("registration"))).toBe("full");
  expect(said).toEqual(["dropped click full", "dropped click full", "dropped registration full"]);
});

test("makes a last attempt when it is closed", async () => {
  const { shelter, stored, state } = setUp();
  const event = sample("payment");
  state.ill = true;
  await shelter.add(event);
  state.ill = false;

  await shelter.close();

  expect(stored).toEqual([event]);
});

test("looks at the storage no more once it is closed, whatever fails afterwards", async () => {
  const { shelter, state, tasks } = setUp();
  state.ill = true;
  const added = shelter.add(sample("payment"));

  await shelter.close();

  expect(await added).toBe("sheltered");
  expect(await shelter.add(sample("payment"))).toBe("sheltered");
  expect(tasks).toEqual([]);
});
