import { follows, start } from "./tracker.js";

export default {
  name: "disk",
  title: "ours, disk",
  setUp: "the same, with `diskOutbox({ directory })`. At the end `close`, 5 s",
  isDurable: true,
  packages: ["express-affiliate", "@photostructure/sqlite"],
  loads: ["../../dist/index.js", "../../dist/disk.js"],
  follows,
  start: (place) =>
    start(place, async (dist) =>
      (await import(`${dist}/disk.js`)).diskOutbox({ directory: place.directory }),
    ),
};
