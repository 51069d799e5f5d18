import { readFileSync } from "node:fs";
import cookieParser from "cookie-parser";
import express, { type Request, type RequestHandler, type Response } from "express";
import { affiliate, memoryOutbox, type Outbox } from "express-affiliate";
import { diskOutbox } from "express-affiliate/disk";
import { Pool } from "undici";
import { serve } from "../proof/shared/serve.js";
import { PATH, POST, SOCKETS_OF_AN_ENDPOINT } from "./payments.js";
import { scratch } from "./scratch.js";
import { argument, say } from "./task.js";

/**
 * How a host reports a payment: not at all; through this package, from memory, from disk, or from
 * an outbox that keeps nothing; or as one would without the package.
 */
export type Way = "none" | "memory" | "disk" | "unkept" | "undici";

export type HostReport = ReturnType<typeof report>;

const { way, service } = argument as { way: Way; service: string };
let orders = 0;
let underWay = 0;
let undelivered = () => underWay;

/** What a checkout does at the least: it reads a JSON body and answers with one. */
function complete(req: Request, res: Response) {
  const order = { id: `order-${++orders}`, email: req.body.email, total: req.body.total };
  res.status(201).json(order);
  return order;
}

const outboxes: Partial<Record<Way, () => Outbox>> = {
  memory: memoryOutbox,
  disk: () => diskOutbox({ directory: scratch() }),
  /** What is left of the cost if nothing is kept and nothing delivered. */
  unkept: () => ({ ...memoryOutbox(), name: "unkept", add: async () => "queued", start() {} }),
};

function checkout(): RequestHandler {
  const outbox = outboxes[way]?.();
  if (outbox) {
    const tracker = affiliate({ baseUrl: service, clientId: 1, outbox, logger: { warn() {}, error() {} } });
    undelivered = () => tracker.stats().queued;
    app.use(tracker);
    return tracker.onPayment(async (req, res) => {
      const { id, email, total } = complete(req, res);
      return { paymentId: id, customerEmail: email, leadValue: total };
    });
  }
  const pool = new Pool(service, { connections: SOCKETS_OF_AN_ENDPOINT });
  const send = async (body: string) => (await pool.request({ path: PATH, ...POST, body })).body.dump();
  return (req, res) => {
    const { id, email, total } = complete(req, res);
    if (way === "none") return;
    underWay++;
    const payment = { clientId: 1, leadType: "PAYMENT", customerEmail: email, leadValue: total };
    send(JSON.stringify({ ...payment, paymentId: id, sessionId: req.cookies.svc_session_id }))
      .catch(() => {})
      .finally(() => underWay--);
  };
}

const app = express().disable("x-powered-by");
app.use(cookieParser(), express.json());
app.post("/checkout", checkout());
app.post("/page", (req, res) => void complete(req, res));
const { port } = await serve(app);

/**
 * Processor time of the main thread so far, in microseconds. It leaves out the work of other threads,
 * and the time for which the thread was ready and had no core.
 */
function mainThreadMicros(): number {
  const [ran] = readFileSync(`/proc/self/task/${process.pid}/schedstat`, "latin1").split(" ");
  return Number(ran) / 1_000;
}

const report = () => ({
  url: `http://127.0.0.1:${port}`,
  /** How many events wait or are under way. */
  undelivered: undelivered(),
  mainThreadMicros: mainThreadMicros(),
});

say(report(), report);
