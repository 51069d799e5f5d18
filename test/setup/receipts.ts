import { beforeEach } from "vitest";
import { receiptTimes } from "../../src/outbox/fallback.js";

// However busy the machine is: a receipt says what the storage has answered. A test of a storage that
// does not answer sets it back.
beforeEach(() => {
  receiptTimes.withinMs = 15_000;
});
