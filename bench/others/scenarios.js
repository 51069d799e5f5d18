/**
 * So many payments in so many milliseconds, by so many visitors: four of each visitor, a second
 * apart. What has not come after `quietMs` without any other is missing: BullMQ, tuned, waits 64 s
 * before its eighth attempt. `costs`: for how long each round of a package warms up, and measures.
 */
export const LOAD = {
  events: 2_000,
  ms: 4_000,
  visitors: 500,
  quietMs: 70_000,
  costs: { warmMs: 2_000, pacedMs: 7_000 },
};

const failing = (mode, seconds) => [
  [1_000, mode],
  [(1 + seconds) * 1_000, "up"],
];

/**
 * What happens, in milliseconds since the first visitor. `service`: what the service does from when
 * on. `host`: when the shop's process gets which signal. `repeatsWithinMs`: until when an event
 * that has arrived may arrive again.
 */
export const scenarios = [
  { name: "healthy", title: "nothing fails" },
  { name: "down", title: "service down for 10 s", service: failing("down", 10) },
  { name: "errors", title: "service: 500 to 3 of 10", service: [[0, "errors"]] },
  { name: "silent", title: "service silent for 5 s", service: failing("silent", 5) },
  { name: "throttle", title: "service: 429 for 5 s", service: failing("throttle", 5) },
  {
    name: "lose",
    title: "service records, answers lost for 3 s",
    service: failing("lose", 3),
    repeatsWithinMs: 20_000,
  },
  { name: "gateway", title: "nginx: 502 for 5 s", service: failing("down", 5), nginx: true },
  { name: "deploy", title: "host deployed (SIGTERM)", host: [2_000, "SIGTERM"] },
  {
    name: "deploy-down",
    title: "host deployed, service down",
    service: failing("down", 10),
    host: [2_500, "SIGTERM"],
  },
  {
    name: "kill",
    title: "host killed (`kill -9`), restarted",
    host: [2_000, "SIGKILL"],
    // BullMQ looks for jobs of lost workers each 30 s, and a job's lock lasts 30 s.
    repeatsWithinMs: 65_000,
  },
  {
    name: "kill-down",
    title: "host killed (`kill -9`), service down",
    service: failing("down", 10),
    host: [2_500, "SIGKILL"],
    repeatsWithinMs: 65_000,
  },
  { name: "reload", title: "page reloaded, twice", times: 3, repeatsWithinMs: 20_000 },
];
