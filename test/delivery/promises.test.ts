import { memoryOutbox } from "express-affiliate";
import { describe } from "vitest";
import { testPromises } from "../helpers/promises.js";
import { isFull } from "../helpers/scale.js";
import { HOUR_MS } from "../helpers/times.js";

describe("on the memory outbox", () =>
  testPromises((clock) => memoryOutbox({}, clock), {
    many: 1_000,
    strangers: isFull ? [1, 20, 200] : [1, 20],
    kinds: isFull ? 100 : 4,
    longestMs: (isFull ? 24 : 2) * HOUR_MS,
    rounds: 60,
    floods: isFull ? [15, 50, 200] : [15, 50],
  }));
