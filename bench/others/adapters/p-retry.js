import { post } from "./http.js";

export default {
  name: "p-retry",
  title: "`fetch`, p-retry",
  setUp:
    "not awaited; attempts of at most 10 s; by default 10 retries, after 1 s, 2 s, 4 s and so on. Nothing at the end: retries keep the process alive",
  packages: ["p-retry"],
  loads: ["p-retry"],
  follows: ["https://github.com/sindresorhus/p-retry#readme"],
  async start({ service }) {
    const { default: pRetry } = await import("p-retry");
    return {
      track(payment) {
        pRetry(() => post(service, payment)).catch(() => {});
      },
      async close() {},
    };
  },
};
