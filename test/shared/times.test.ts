import { expect, it, onTestFinished, vi } from "vitest";
import { timeOfDay } from "../../src/browser/pieces.js";

it("a page's time of day begins at 00, in English too", () => {
  const toText = Date.prototype.toLocaleTimeString;
  const spy = vi.spyOn(Date.prototype, "toLocaleTimeString");
  onTestFinished(() => spy.mockRestore());
  spy.mockImplementation(function (this: Date, _, options) {
    return toText.call(this, "en-US", options);
  });
  const soonAfterMidnight = new Date(2026, 0, 1, 0, 5, 3);
  expect(timeOfDay(soonAfterMidnight)).toBe("00:05:03");
  expect(timeOfDay(soonAfterMidnight, "short")).toBe("00:05");
});
