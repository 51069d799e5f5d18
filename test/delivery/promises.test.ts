import { describe } from "vitest";
import { memoryOutbox } from "../../src/outbox/memory/memory-outbox.js";
import { testPromises } from "../helpers/promises.js";
import { virtualDisk } from "../helpers/virtual-disk.js";

const HOUR_MS = 3_600_000;

describe("on the memory outbox", () =>
  testPromises((clock) => memoryOutbox({}, clock), {
    many: 1_000,
    strangers: [1, 20, 200],
    kinds: 100,
    longestMs: 24 * HOUR_MS,
    rounds: 60,
  }));

describe("on the disk outbox", () =>
  testPromises(virtualDisk, { many: 100, strangers: [20], kinds: 2, longestMs: HOUR_MS, rounds: 30 }));
