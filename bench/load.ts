import { once } from "node:events";
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { Child } from "./child.js";
import type { HostReport } from "./host.js";
import { visitor } from "./payments.js";

const CONNECTIONS = 16;
const VISITORS = 500;
const CLOSING_BRACE = 125;

/**
 * Gives a host so many requests, as fast as it can take them: checkouts, which are tracked, or pages.
 * Rejects when it answers with anything but 201.
 */
export async function load(host: Child<HostReport>, requests: number, isTracked: boolean): Promise<void> {
  const { port, hostname } = new URL(host.ready.url);
  // Made beforehand, and of an answer only its ends are looked at: the load is to take little of
  // the machine.
  const prepared = Array.from({ length: VISITORS }, (_, nth) => request(nth, isTracked));
  let sent = 0;

  async function visit(): Promise<void> {
    const socket = connect({ port: Number(port), host: hostname, noDelay: true });
    let hasBegun = false;
    function ask(): void {
      if (sent >= requests) return void socket.end();
      hasBegun = false;
      socket.write(prepared[sent++ % VISITORS] as Buffer);
    }
    socket.on("connect", ask);
    socket.on("data", (answer) => {
      if (!hasBegun && answer.toString("latin1", 9, 12) !== "201") {
        throw new Error(`the host answered ${answer.toString("latin1", 0, 200)}`);
      }
      hasBegun = true;
      // It is one flat object, and no header has a brace.
      if (answer.at(-1) === CLOSING_BRACE) ask();
    });
    await once(socket, "close");
  }

  await Promise.all(Array.from({ length: CONNECTIONS }, visit));
}

function request(nth: number, tracked: boolean): Buffer {
  const { clickId, sessionId } = visitor(nth);
  const body = JSON.stringify({ email: `customer-${nth}@shop.example`, total: 19.9 });
  const head = [
    `POST ${tracked ? "/checkout" : "/page"} HTTP/1.1`,
    "host: shop.example",
    "content-type: application/json",
    `content-length: ${body.length}`,
    `cookie: svc_click_id=${clickId}; svc_session_id=${sessionId}`,
  ];
  return Buffer.from(`${head.join("\r\n")}\r\n\r\n${body}`);
}

// A host that is asked often has more to do.
const LOOK_EVERY_MS = 50;
const PATIENCE_MS = 120_000;

/** Resolves when the host has delivered everything. Rejects if it never does. */
export async function delivered(host: Child<HostReport>): Promise<void> {
  for (let left = PATIENCE_MS; ; left -= LOOK_EVERY_MS) {
    const { undelivered } = await host.report();
    if (undelivered === 0) return;
    if (left <= 0) throw new Error(`the host has not delivered ${undelivered} events`);
    await sleep(LOOK_EVERY_MS);
  }
}
