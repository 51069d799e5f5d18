/**
 * The host: an Express shop with one checkout, tracked by one adapter. A process of its own, so
 * that it can be killed.
 */
import { once } from "node:events";
import { readFileSync } from "node:fs";
import express from "express";
import { adapters, none } from "./adapters/index.js";

const { adapter, place } = JSON.parse(process.argv[2]);
const tracking = await [none, ...adapters].find(({ name }) => name === adapter).start(place);

const app = express().disable("x-powered-by");
app.post("/checkout", express.json(), async (req, res) => {
  await tracking.track(req.body);
  res.status(201).json({ paymentId: req.body.paymentId });
});
// The visitor gets the error, the console does not.
app.use((_error, _req, res, _next) => res.status(500).json({ error: true }));
const server = app.listen(0, "127.0.0.1");
await once(server, "listening");

process.once("SIGTERM", () => {
  const idle = setInterval(() => server.closeIdleConnections(), 20);
  server.close(async () => {
    clearInterval(idle);
    await tracking.close?.();
    process.off("disconnect", process.exit);
    process.disconnect();
  });
});

const answers = {
  /** The main thread's processor time so far, in microseconds. */
  async mainThread() {
    const [ran] = readFileSync(`/proc/self/task/${process.pid}/schedstat`, "latin1").split(" ");
    return Number(ran) / 1_000;
  },
  /** The addresses of the payments that were given up, and that an operator can still send. */
  async held() {
    return (await tracking.held?.()) ?? [];
  },
};
process.on("message", async (question) => process.send(await answers[question]()));
process.once("disconnect", process.exit);
process.send({ port: server.address().port });
