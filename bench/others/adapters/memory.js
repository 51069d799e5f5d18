import { follows, start } from "./tracker.js";

export default {
  name: "memory",
  title: "ours, memory",
  setUp:
    "`trackPayment()`, not awaited; by default `memoryOutbox()`. At the end `flush` and `close`, 5 s each",
  packages: ["express-affiliate"],
  loads: ["../../dist/index.js"],
  follows,
  start: (place) =>
    start(place, async (dist) => (await import(`${dist}/index.js`)).memoryOutbox(), { flushes: true }),
};
