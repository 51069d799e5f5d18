import { expect, it } from "vitest";
import { spanOf } from "../../../src/cli/outbox/words.js";

it.each([
  [0, "less than a minute"],
  [59_999, "less than a minute"],
  [60_000, "1 minute"],
  [3_599_999, "59 minutes"],
  [3_600_000, "1 hour"],
  [86_400_000, "1 day"],
  [200_000_000, "2 days"],
])("calls %d ms %s", (ms, span) => {
  expect(spanOf(ms)).toBe(span);
});
