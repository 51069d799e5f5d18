import { PATH, requestOf } from "./http.js";

export default {
  name: "fetch",
  title: "`fetch().catch()`",
  setUp: "not awaited; no retries, no time limit of its own",
  packages: [],
  loads: [],
  follows: ["https://nodejs.org/docs/latest-v20.x/api/globals.html#fetch"],
  async start({ service }) {
    return {
      track(payment) {
        fetch(service + PATH, requestOf(payment))
          .then((response) => response.text())
          .catch(() => {});
      },
      async close() {},
    };
  },
};
