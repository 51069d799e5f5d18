import fc from "fast-check";
import { expect, it } from "vitest";
import { nearestWord } from "../../src/shared/nearest.js";
import { anyCharacter } from "../helpers/any-character.js";

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

it("the search for a near word finds one of the words or none, whatever is typed", () => {
  fc.assert(
    fc.property(fc.string({ unit: anyCharacter }), fc.array(fc.string()), (typed, list) => {
      expect([...list, undefined]).toContain(nearestWord(typed, list));
    }),
  );
});
