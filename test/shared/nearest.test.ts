import { expect, it } from "vitest";
import { nearestWord } from "../../src/shared/nearest.js";

const words = ["sandbox", "doctor", "outbox", "migrations", "apiKey", "api-key-env"];

it.each([
  ["sandbx", "sandbox"],
  ["DOCTOR", "doctor"],
  ["migration", "migrations"],
  ["apikey", "apiKey"],
  ["api-key", "api-key-env"],
  ["kubernetes", undefined],
  ["", undefined],
])("takes %j for %j", (typed, meant) => {
  expect(nearestWord(typed, words)).toBe(meant);
});
