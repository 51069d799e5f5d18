import { fetchAndCatch } from "./fetch.js";
import { disk, memory, postgres } from "./ours.js";
import { bullmq, bullmqTuned, graphileWorker } from "./queues.js";
import { posthog, segment } from "./sdks.js";

/**
 * What is compared, in the order of the tables. Each has a `name`, and a `title`, `setUp` and
 * `follows`, which the pages show; the `packages` that it takes, and the modules that it `loads` if
 * they are not those; what server it `needs`; whether its service `dropsKnown` ids; which one it
 * `costsAs`, if its own costs are not measured; and `start(place)`, which gives `track(payment)`,
 * `close()` if the end needs it and, if an operator can send what was given up, `held()`.
 */
export const adapters = [
  ...[fetchAndCatch, segment, posthog, bullmq, bullmqTuned, graphileWorker],
  ...[memory, disk, postgres],
];

/** The shop without tracking: what the costs are measured against. */
export const none = { name: "none", title: "no tracking", start: () => ({ track() {} }) };
