import awaitedFetch from "./awaited-fetch.js";
import bullmq from "./bullmq.js";
import disk from "./disk.js";
import fetchAndCatch from "./fetch.js";
import memory from "./memory.js";
import pRetry from "./p-retry.js";
import postgres from "./postgres.js";
import posthog from "./posthog.js";
import segment from "./segment.js";

/**
 * What is compared, in the order of the tables. Each has a `name`, and a `title`, `setUp` and `follows`, which docs/compare.md
 * shows; the `packages` that it takes and the modules that it `loads`; whether it `isDurable`, which is to keep payments outside the
 * process; and `start(place)`, which gives `track(payment)`, `close()`
 * and, where an operator can send what was given up, `held()`.
 */
export const adapters = [
  fetchAndCatch,
  awaitedFetch,
  pRetry,
  segment,
  posthog,
  bullmq,
  memory,
  disk,
  postgres,
];
