import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { performance } from "node:perf_hooks";
import cookieParser from "cookie-parser";
import express, { type Request, type RequestHandler, type Response } from "express";
import { affiliate, memoryOutbox } from "express-affiliate";
import { diskOutbox } from "express-affiliate/disk";
import { Pool } from "undici";
import { HEADERS, PATH } from "./payments.js";
import { scratch } from "./scratch.js";
import { argument, say } from "./task.js";

/** How a host reports a payment: not at all, through this package, or as one would without it. */
export type Way = "none" | "memory" | "disk" | "undici" | "fetch";

export interface HostReport {
  readonly url: string;
  /** How many events wait or are under way. */
  readonly undelivered: number;
  /** The share of the time since the last report that the event loop was at work. */
  readonly utilization: number;
}

const { way, service } = argument as { way: Way; service: string };
let orders = 0;
let underWay = 0;
let undelivered = () => underWay;

interface Order {
  readonly id: string;
  readonly email: string;
  readonly total: number;
}

/** What a checkout does at the least: it reads a JSON body and answers with one. */
function complete(req: Request, res: Response): Order {
  const order = { id: `order-${++orders}`, email: req.body.email, total: req.body.total };
  res.status(201).json(order);
  return order;
}

function paymentOf({ id, email, total }: Order) {
  return { paymentId: id, customerEmail: email, leadValue: total };
}

function checkout(): RequestHandler {
  if (way === "memory" || way === "disk") {
    const tracker = affiliate({
      baseUrl: service,
      clientId: 1,
      outbox: way === "disk" ? diskOutbox({ directory: scratch() }) : memoryOutbox(),
      logger: { warn() {}, error() {} },
    });
    undelivered = () => tracker.stats().queued;
    app.use(tracker);
    return tracker.onPayment(async (req, res) => paymentOf(complete(req, res)));
  }
  const send = way === "none" ? undefined : sender(way);
  return (req, res) => {
    const { id, email, total } = complete(req, res);
    if (!send) return;
    underWay++;
    const payment = { clientId: 1, leadType: "PAYMENT", customerEmail: email, leadValue: total };
    send(JSON.stringify({ ...payment, paymentId: id, sessionId: req.cookies.svc_session_id }))
      .catch(() => {})
      .finally(() => underWay--);
  };
}

/** What a host does that has no package for it. */
function sender(way: "undici" | "fetch"): (body: string) => Promise<unknown> {
  if (way === "fetch") {
    return async (body) => (await fetch(service + PATH, { method: "POST", headers: HEADERS, body })).text();
  }
  const pool = new Pool(service, { connections: 8 });
  return async (body) =>
    (await pool.request({ method: "POST", path: PATH, headers: HEADERS, body })).body.dump();
}

const app = express().disable("x-powered-by");
app.use(cookieParser(), express.json());
const handler = checkout();
app.post("/checkout", handler);
app.post("/page", (req, res) => void complete(req, res));
const server = app.listen(0, "127.0.0.1");
await once(server, "listening");
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

let reported = performance.eventLoopUtilization();

function report(): HostReport {
  const now = performance.eventLoopUtilization();
  const { utilization } = performance.eventLoopUtilization(now, reported);
  reported = now;
  return { url, undelivered: undelivered(), utilization };
}

say(report(), report);
