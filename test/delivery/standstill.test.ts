/** A process that stood still: it was stopped, its machine slept, or its event loop was blocked. */
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createRequire } from "node:module";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { createServer as createTlsServer } from "node:tls";
import { describe, expect, it, onTestFinished } from "vitest";
import { diskOutbox } from "../../src/outbox/disk/disk-outbox.js";
import { until } from "../contract/recorder.js";
import { certificates } from "../helpers/certificates.js";
import { answering, type Behaviour, faultyService, silent } from "../helpers/faulty-service.js";
import { startHost } from "../helpers/host.js";
import { scratchDirectory } from "../helpers/scratch.js";
import { standStill } from "../helpers/stand-still.js";

const { DatabaseSync } = createRequire(import.meta.url)("@photostructure/sqlite");

/** Runs a host, whose tracker's notices are said line by line. */
function startHostThat(script: string, env: Record<string, string> = {}) {
  const preamble = `
    const block = (ms) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
    function track(options) {
      const tracker = affiliate({ clientId: 1, logger, ...options });
      for (const name of ["delivered", "dead", "retry"])
        tracker.on(name, ({ reason, code, attempts }) => say(JSON.stringify({ name, reason, code, attempts })));
      return tracker;
    }
  `;
  const { host, said: lines } = startHost(preamble + script, { env: { ...process.env, ...env } });
  const heard = () => until(() => lines.length > 0, "nothing was logged");
  return { host, said: () => lines.map((line) => JSON.parse(line)), heard };
}

/**
 * Stops a process while it does not hold SQLite's lock: it would hold it for as long as it is
 * stopped.
 */
async function stopBetweenTransactions(host: ChildProcess, directory: string): Promise<void> {
  const db = new DatabaseSync(join(directory, "outbox.db"));
  for (let isStopped = false; !isStopped; ) {
    standStill(host.pid as number);
    try {
      db.exec("begin immediate; rollback");
      isStopped = true;
    } catch (error) {
      expect(String(error)).toMatch(/locked/);
      host.kill("SIGCONT");
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
  db.close();
}

describe("an event loop that was blocked for longer than `timeoutMs`", () => {
  /** Reports a payment to a service, and blocks. Resolves to what the host was told of it. */
  async function saidAfter(onRequest: Behaviour, block: string) {
    const service = await faultyService({ onRequest });
    const { said, heard } = startHostThat(`
      // So that no time of the attempt below is needed to load what sends it.
      track({ baseUrl: "http://127.0.0.1:1" }).client.status("s").catch(() => {
        const tracker = track({ baseUrl: "${service.url}", delivery: { timeoutMs: 1_000 } });
        tracker.trackPayment(payment(1), { sessionId: "s" });
        ${block}
      });
    `);
    await heard();
    return { said: said(), sent: service.requests.length };
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

describe("a process that was stopped for longer than its lease", () => {
  const made = certificates();

  it("does not send what another process has taken over", async () => {
    const taken: string[] = [];
    const tlsServer = createTlsServer(made.valid, (socket) => {
      socket.on("error", () => {});
      socket.setEncoding("utf8").on("data", (text: unknown) => {
        for (const [, key] of String(text).matchAll(/idempotency-key: (\w+)/gi)) taken.push(key as string);
        socket.write('HTTP/1.1 200 OK\r\ncontent-length: 16\r\n\r\n{"success":true}');
      });
    });
    // The stopped process has a connection, but the handshake that must come before the request is
    // held up.
    const held: Socket[] = [];
    let isOpen = false;
    const gate = createServer((socket) => {
      socket.on("error", () => {});
      if (isOpen) tlsServer.emit("connection", socket);
      else held.push(socket);
    }).listen(0, "127.0.0.1");
    await once(gate, "listening");
    onTestFinished(() => {
      for (const socket of held) socket.destroy();
      gate.close();
    });
    const url = `https://127.0.0.1:${(gate.address() as AddressInfo).port}`;
    const directory = scratchDirectory();
    const script = `
      const outbox = diskOutbox({ directory: "${directory}", leaseMs: 1_000 });
      setInterval(() => {}, 1_000);
      const tracker = track({ baseUrl: "${url}", outbox, delivery: { connectTimeoutMs: 60_000, timeoutMs: 60_000 } });
    `;
    const env = { NODE_EXTRA_CA_CERTS: made.authorityFile };
    const stopped = startHostThat(`${script} tracker.trackPayment(payment(1), { sessionId: "s" });`, env);
    await until(() => held.length === 1, "no connection was made");
    await stopBetweenTransactions(stopped.host, directory);

    // Another takes the payment over, does not know how far it got, and holds it; a person retries
    // it.
    const outbox = diskOutbox({ directory, leaseMs: 1_000 });
    const other = startHostThat(script, env);
    await until(() => other.said().length === 1, "the payment was not taken over");
    expect(other.said()).toMatchObject([{ name: "dead", reason: "unconfirmed", code: "ERR_INTERRUPTED" }]);
    isOpen = true;
    expect(await outbox.deadLetters.retryAll({ reason: "unconfirmed" })).toBe(1);
    await outbox.close();
    await until(() => other.said().length === 2, "the payment was not delivered");
    expect(taken).toHaveLength(1);

    for (const socket of held) tlsServer.emit("connection", socket);
    stopped.host.kill("SIGCONT");
    // Any of the three processes may send it.
    startHostThat(`${script} tracker.trackClick({ affiliateReference: "A" }, { sessionId: "later" });`, env);
    await until(() => taken.length >= 2, "a later click was not sent");
    await until(
      () => held.every((socket) => socket.bytesRead > 0 || socket.destroyed),
      "nothing came of the connections",
    );
    expect(taken).toHaveLength(2);
    expect(new Set(taken).size).toBe(2);
  });
});
