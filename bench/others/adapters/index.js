import awaitedFetch from "./awaited-fetch.js";
import bullmq from "./bullmq.js";
import bullmqId from "./bullmq-id.js";
import disk from "./disk.js";
import fetchAndCatch from "./fetch.js";
import graphileWorker from "./graphile-worker.js";
import memory from "./memory.js";
import pRetry from "./p-retry.js";
import pgBoss from "./pg-boss.js";
import postgres from "./postgres.js";
import posthog from "./posthog.js";
import posthogId from "./posthog-id.js";
import segment from "./segment.js";
import segmentId from "./segment-id.js";

/**
 * What is compared, in the order of the tables. Each has a `name`, and a `title`, `setUp` and
 * `follows`, which docs/compare.md shows; the `packages` that it takes and the modules that it
 * `loads`; whether it `isDurable`, which is to keep payments outside the process; what server it
 * `needs`; whether its service `dropsKnown` ids; and `start(place)`, which gives `track(payment)`,
 * `close()` and, if an operator can send what was given up, `held()`.
 */
export const adapters = [
  fetchAndCatch,
  awaitedFetch,
  pRetry,
  segment,
  segmentId,
  posthog,
  posthogId,
  bullmq,
  bullmqId,
  pgBoss,
  graphileWorker,
  memory,
  disk,
  postgres,
];
