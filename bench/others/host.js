import { fork } from "node:child_process";
import { once } from "node:events";
import { request } from "undici";

// As long as a patient visitor waits.
const VISITOR_MS = 60_000;
const NO_PROCESS = ["ECONNREFUSED", "ECONNRESET", "EPIPE", "UND_ERR_SOCKET"];

/** Starts a shop in a process of its own. */
export async function startHost(adapter, place) {
  const stdio = ["ignore", "ignore", "ignore", "ipc"];
  const shop = fork("bench/others/shop.js", [JSON.stringify({ adapter, place })], { stdio });
  const failed = once(shop, "exit").then(([code, signal]) => {
    throw new Error(
      `the shop with ${adapter} ended with ${code ?? signal}: bench/results/others.md says what it needs`,
    );
  });
  failed.catch(() => {});
  const [{ port }] = await Promise.race([once(shop, "message"), failed]);
  return {
    shop,
    /** `mainThread` or `held`: see shop.js. */
    async ask(question) {
      const answer = once(shop, "message");
      shop.send(question);
      return (await answer)[0];
    },
    /**
     * Pays. What the visitor got, and after how many milliseconds. Without an answer the
     * status is 0, and `isUnserved` says whether there was no process to give one.
     */
    async pay(email, visitor, dispatcher) {
      const began = performance.now();
      const got = await request(`http://127.0.0.1:${port}/checkout`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ paymentId: email, email, total: 19.9, visitor }),
        headersTimeout: VISITOR_MS,
        bodyTimeout: VISITOR_MS,
        dispatcher,
      }).then(
        async ({ statusCode, body }) => {
          await body.dump();
          return { status: statusCode, isUnserved: false };
        },
        ({ code }) => ({ status: 0, isUnserved: NO_PROCESS.includes(code) }),
      );
      return { email, ...got, waited: performance.now() - began };
    },
  };
}
