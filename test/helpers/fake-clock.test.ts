import { expect, it } from "vitest";
import { FakeClock } from "./fake-clock.js";

it("a clock that a test turns fires a timer after all that follows from those before it", async () => {
  const clock = new FakeClock();
  const seen: string[] = [];
  clock.after(10, () => void Promise.resolve().then(() => seen.push("what follows")));
  const cancel = clock.after(10, () => seen.push("a cancelled timer"));
  clock.after(20, () => seen.push("a later timer"));
  cancel();
  await clock.pass(20);
  expect(seen).toEqual(["what follows", "a later timer"]);
});
