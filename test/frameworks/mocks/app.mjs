/** Reports a payment to an address with a mock of it, or none. Prints who answered. */
import { once } from "node:events";
import { createServer } from "node:http";
import { affiliate } from "express-affiliate";

const [, , library, use] = process.argv;
const server = createServer((_req, res) => res.end('{"success":true}')).listen(0, "127.0.0.1");
await once(server, "listening");
const origin = `http://127.0.0.1:${server.address().port}`;
const path = "/api/v1/tracking/lead/payment";
let isSeen = false;

function answer() {
  isSeen = true;
  return { success: true };
}

const mocks = {
  async nock() {
    const { default: nock } = await import("nock");
    if (use === "mock") nock(origin).post(path).reply(201, answer);
  },
  async msw() {
    const { http, HttpResponse } = await import("msw");
    const { setupServer } = await import("msw/node");
    const handlers = use === "mock" ? [http.post(origin + path, () => HttpResponse.json(answer()))] : [];
    setupServer(...handlers).listen({ onUnhandledRequest: "bypass", onUnhandledFrame: "bypass" });
  },
  async undici() {
    const { MockAgent, setGlobalDispatcher } = await import("undici");
    const agent = new MockAgent();
    agent.get(origin).intercept({ path, method: "POST" }).reply(201, answer);
    setGlobalDispatcher(agent);
  },
};
await mocks[library]();
if (use === "down") await new Promise((resolve) => server.close(resolve));

const tracker = affiliate({ baseUrl: origin, clientId: 1, logger: { warn() {}, error() {} } });
tracker.on("retry", () => end("waits"));
tracker.on("dead", ({ reason }) => end(reason));
tracker.on("delivered", () => end(isSeen ? "the mock" : "the service"));
await tracker.trackPayment(
  { paymentId: "1", customerEmail: "a@shop.example", leadValue: 1 },
  { sessionId: "s1" },
);
setInterval(() => {}, 1_000);

function end(who) {
  console.log(who);
  process.exit();
}
