import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, it } from "vitest";
import { createBatchWindow } from "../../src/engine/batch-window.js";

// Longer than a test may take: where something runs, it was not the time.
const HOUR_MS = 3_600_000;

it("runs a task at the end of the turn where nothing more is to come", async () => {
  const { soon } = createBatchWindow({ isMoreToCome: () => false, forMs: HOUR_MS });
  const done: string[] = [];
  soon(() => done.push("task"));
  expect(done).toEqual([]);
  await nextTurn();
  expect(done).toEqual(["task"]);
});

it("runs all that was put off, in order, as soon as nothing more is to come", async () => {
  const window = createBatchWindow({ isMoreToCome: () => true, forMs: HOUR_MS });
  const done: string[] = [];
  window.soon(() => done.push("first"));
  window.soon(() => done.push("second"));
  await nextTurn();
  expect(done).toEqual([]);
  window.complete();
  await nextTurn();
  expect(done).toEqual(["first", "second"]);
});

it("runs what was put off where what is to come does not", async () => {
  const { soon } = createBatchWindow({ isMoreToCome: () => true, forMs: 1 });
  await new Promise<void>((resolve) => soon(resolve));
});

it("puts a task off again that the last one asks for", async () => {
  const window = createBatchWindow({ isMoreToCome: () => true, forMs: HOUR_MS });
  const done: string[] = [];
  window.soon(() => window.soon(() => done.push("second")));
  window.complete();
  await nextTurn();
  expect(done).toEqual([]);
  window.complete();
  await nextTurn();
  expect(done).toEqual(["second"]);
});

it("runs what was put off for longer a moment after it is hurried", async () => {
  const window = createBatchWindow({
    isMoreToCome: () => true,
    forMs: 1,
    isPatient: () => true,
    longerMs: HOUR_MS,
  });
  let isDone = false;
  const done = new Promise<void>((resolve) => {
    window.soon(() => {
      isDone = true;
      resolve();
    });
  });
  await new Promise((resolve) => setTimeout(resolve, 5));
  expect(isDone).toBe(false);
  window.shorten();
  await done;
});

it("has nothing to hurry where nothing was put off, or for a moment alone", async () => {
  const window = createBatchWindow({ isMoreToCome: () => true, forMs: 1, longerMs: HOUR_MS });
  window.shorten();
  await new Promise<void>((resolve) => {
    window.soon(resolve);
    window.shorten();
  });
});
