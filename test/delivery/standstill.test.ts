/** A process that stood still: its event loop was blocked, it was stopped, or its machine slept. */
import { describe, expect, it } from "vitest";
import { until } from "../contract/stage.js";
import { answering, type Behaviour, faultyService, silent } from "../helpers/faulty-service.js";
import { startHost } from "../helpers/host.js";

describe("an event loop that was blocked for longer than `timeoutMs`", () => {
  /** Reports a payment to a service, and blocks. Resolves to what the host was told of it. */
  async function saidAfter(onRequest: Behaviour, block: string) {
    const service = await faultyService({ onRequest });
    const { said } = startHost(`
      const block = (ms) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
      // So that no time of the attempt below is needed to load what sends it.
      affiliate({ clientId: 1, logger, baseUrl: "http://127.0.0.1:1" }).client.status("s").catch(() => {
        const tracker = affiliate({ clientId: 1, logger, baseUrl: "${service.url}", delivery: { timeoutMs: 1_000 } });
        for (const name of ["delivered", "dead", "retry"])
          tracker.on(name, ({ reason, attempts }) => say(JSON.stringify({ name, reason, attempts })));
        tracker.trackPayment(payment(1), { sessionId: "s" });
        ${block}
      });
    `);
    await until(() => said.length > 0, "nothing was logged");
    return { said: said.map((line) => JSON.parse(line)), sent: service.requests.length };
  }

  // It is sent in the next turn or the one after it; an answer comes while nothing here is running.
  const AS_IT_IS_SENT = `
    require("node:diagnostics_channel").subscribe("undici:client:sendHeaders", () => setImmediate(block, 2_000));
  `;

  it("reads the answer that lies in the socket before it judges the deadline", async () => {
    const { said } = await saidAfter(answering(200), AS_IT_IS_SENT);
    expect(said).toEqual([{ name: "delivered", attempts: 1 }]);
  });

  it("sends nothing that it could not send before, and tries it again as if new", async () => {
    // The connection comes while nothing here is running, and with it the deadline.
    const asItConnects = `
      const socket = require("node:net").Socket.prototype;
      const { connect } = socket;
      socket.connect = function (...args) {
        socket.connect = connect;
        process.nextTick(block, 2_000);
        return connect.apply(this, args);
      };
    `;
    const told = await saidAfter(answering(200), asItConnects);
    expect(told).toEqual({ said: [{ name: "delivered", attempts: 1 }], sent: 1 });
  });

  it("holds a payment that was sent, and to which no answer came", async () => {
    const { said } = await saidAfter(silent, AS_IT_IS_SENT);
    expect(said).toMatchObject([{ name: "dead", reason: "unconfirmed" }]);
  });
});
