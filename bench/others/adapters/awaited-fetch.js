import { PATH, requestOf } from "./http.js";

export default {
  name: "awaited-fetch",
  title: "awaited `fetch`",
  setUp: "awaited before the response; no retries, no time limit. Without an answer, the checkout fails",
  packages: [],
  loads: [],
  follows: ["https://nodejs.org/docs/latest-v20.x/api/globals.html#fetch"],
  async start({ service }) {
    return {
      async track(payment) {
        const response = await fetch(service + PATH, requestOf(payment));
        await response.text();
      },
      async close() {},
    };
  },
};
