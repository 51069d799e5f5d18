import { describe } from "vitest";
import { testPromises } from "../helpers/promises.js";
import { isFull } from "../helpers/scale.js";
import { HOUR_MS } from "../helpers/times.js";
import { virtualDisk } from "../helpers/virtual-disk.js";

describe("on the disk outbox", () =>
  testPromises(
    virtualDisk,
    isFull
      ? { many: 100, strangers: [20], kinds: 2, longestMs: HOUR_MS, rounds: 30, floods: [15] }
      : { many: 40, strangers: [10], kinds: 1, longestMs: HOUR_MS / 60, rounds: 24, floods: [15] },
  ));
