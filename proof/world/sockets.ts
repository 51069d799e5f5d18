import { createServer } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { Pool } from "undici";
import { trackerOf } from "../shared/tracker.js";
import { startDelay } from "./programs/delay.js";
import type { Part } from "./shared/part.js";
import { paymentOf } from "./shared/payments.js";

const HOSTS = 100;
const ONE_WAY_MS = 25;
const SERVER_CLOSES_AFTER_MS = 2_000;
const LONGEST_GAP_MS = 3_000;

/** A service that closes what idles, and announces nothing. */
function createService() {
  const service = { sockets: new Set<Socket>(), payments: 0 };
  const server = createServer(async (req, res) => {
    const { socket } = req;
    socket.removeAllListeners("timeout");
    socket.setTimeout(0);
    for await (const _ of req);
    service.sockets.add(socket);
    service.payments++;
    res.on("finish", () => socket.setTimeout(SERVER_CLOSES_AFTER_MS, () => socket.end()));
    res.writeHead(201, { "content-type": "application/json" }).end('{"success":true}');
  });
  server.keepAliveTimeout = 0;
  return { service, server };
}

/** Sends one request after the other, up to 3 s apart. Resolves to how many were not answered. */
async function send(rounds: number, one: (nth: number) => Promise<boolean>): Promise<number> {
  let unanswered = 0;
  for (let nth = 0; nth < rounds; nth++) {
    if (!(await one(nth))) unanswered++;
    await sleep(Math.random() * LONGEST_GAP_MS);
  }
  return unanswered;
}

async function heldByTracker(baseUrl: string, rounds: number): Promise<number> {
  const tracker = trackerOf(baseUrl);
  const held = await send(rounds, async (nth) => {
    const before = tracker.stats().dead.unconfirmed;
    await tracker.trackPayment(...paymentOf(nth));
    await tracker.flush();
    return tracker.stats().dead.unconfirmed === before;
  });
  await tracker.close();
  return held;
}

async function unansweredByUndici(baseUrl: string, rounds: number): Promise<number> {
  const pool = new Pool(baseUrl);
  const unanswered = await send(rounds, () =>
    pool.request({ method: "POST", path: "/", body: "{}" }).then(
      ({ body }) => body.dump().then(() => true),
      () => false,
    ),
  );
  await pool.close();
  return unanswered;
}

async function measure(rounds: number, host: (baseUrl: string, rounds: number) => Promise<number>) {
  const { service, server } = createService();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const delay = await startDelay((server.address() as AddressInfo).port, ONE_WAY_MS);
  const url = `http://127.0.0.1:${delay.port}`;
  const counts = await Promise.all(Array.from({ length: HOSTS }, () => host(url, rounds)));
  delay.stop();
  server.close();
  server.closeAllConnections();
  return {
    unanswered: counts.reduce((sum, count) => sum + count),
    payments: service.payments,
    connections: service.sockets.size,
  };
}

export default {
  title: "a server 50 ms away that closes a connection after 2 s without a request, unannounced",
  async prove({ short }) {
    const rounds = short ? 20 : 100;
    const [ours, bare] = await Promise.all([
      measure(rounds, heldByTracker),
      measure(rounds, unansweredByUndici),
    ]);
    return [
      { what: "payments", measured: ours.payments, atLeast: HOSTS * rounds },
      { what: "held, each for nothing", measured: ours.unanswered, atMost: 1 },
      { what: "connections", measured: ours.connections, atMost: ours.payments - 1 },
      { what: "the same with undici as it is: unanswered", measured: bare.unanswered, atLeast: 1 },
      { what: "the same with undici as it is: connections", measured: bare.connections },
    ];
  },
} satisfies Part;
