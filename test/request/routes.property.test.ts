import { expect, it } from "vitest";
import { simulateRoutes } from "../../proof/front/routes/simulate.js";
import { isFull } from "../helpers/scale.js";

it("a wrapped handler reports a payment once, if and only if its visitor got an answer below 400 or hung up on one", async () => {
  const seed = Number(process.env.PROPERTY_SEED ?? Date.now());
  const { answered, hungUp, expected, reported, wrong } = await simulateRoutes(seed, isFull ? 10_000 : 500);
  expect(wrong, `seed ${seed}`).toEqual([]);
  expect(reported).toBe(expected);
  expect(Math.min(answered, hungUp, reported)).toBeGreaterThan(0);
});
