import source from "inline:./thread.ts";
import { MessageChannel, receiveMessageOnPort, SHARE_ENV, Worker } from "node:worker_threads";
import { peerPlaces, resolvePeer } from "../../shared/peer.js";
import { type Batch, type Message, type Reply, SIGNALS, type ThreadOptions } from "./protocol.js";

const LONGEST_START_MS = 10_000;
const LONGEST_END_MS = 5_000;

/** The outbox's thread, as the host's thread sees it. */
export interface Thread {
  send(batch: Batch): void;
  /** Sends it a message that it does not answer. */
  post(message: Message): void;
  /** From here on it keeps no process alive, until it is sent something. */
  rest(): void;
  waitForReply(): Reply;
  /** Makes it end as soon as it can. The process neither waits for it nor stops it inside SQLite's native code. */
  abandon(): void;
  /** Waits until it has done what it was sent, and has ended. */
  end(): void;
  stop(): Promise<void>;
}

/**
 * Starts the outbox's thread. It keeps no process alive until it is sent something.
 *
 * @param hear called with its replies, in their order.
 * @param lose called when it has ended by itself.
 */
export function startThread(
  options: Omit<ThreadOptions, "signals">,
  hear: (reply: Reply) => void,
  lose: (error: Error) => void,
): Thread {
  const signals = new Int32Array(new SharedArrayBuffer(8));
  const { port1: port, port2 } = new MessageChannel();
  const worker = new Worker(source, {
    eval: true,
    name: "express-affiliate",
    // Without the flags of the host's command line, `--require` among them, except Yarn's. Node also loads what NODE_OPTIONS names.
    execArgv: plugAndPlay(),
    // What of the environment concerns TLS and proxies may be set after this.
    env: SHARE_ENV,
    workerData: { ...options, signals, port: port2 },
    transferList: [port2],
  });
  const ended = new Promise<void>((resolve) => worker.once("exit", () => resolve()));
  let expected = false;
  port.on("message", hear);
  worker.once("error", (error) => end(error));
  worker.once("exit", (code) => end(new Error(`exit code ${code}`)));

  function end(error: Error): void {
    // Its last replies.
    for (let last = receiveMessageOnPort(port); last; last = receiveMessageOnPort(port)) hear(last.message);
    if (!expected) lose(error);
    expected = true;
    port.close();
  }

  function post(message: Message): void {
    port.postMessage(message);
  }

  function rest(): void {
    worker.unref();
    port.unref();
  }

  rest();
  return {
    send(batch) {
      worker.ref();
      post(batch);
    },
    post,
    rest,
    waitForReply() {
      post("open");
      Atomics.wait(signals, SIGNALS.replied, 0, LONGEST_START_MS);
      const received = receiveMessageOnPort(port);
      if (received) return received.message;
      const message = `diskOutbox: ${options.path} could not be opened within ${LONGEST_START_MS / 1_000} s; see whether its disk answers`;
      return { type: "failed", generation: 0, code: "ERR_AFFILIATE_DISK_UNUSABLE", message };
    },
    abandon() {
      expected = true;
      post("close");
    },
    end() {
      post("end");
      Atomics.wait(signals, SIGNALS.closed, 0, LONGEST_END_MS);
    },
    stop() {
      expected = true;
      worker.ref();
      post("close");
      return ended;
    },
  };
}

/** Yarn's Plug'n'Play packs modules into archives. Its hook reads them, and often comes by a flag of the host's command line. */
function plugAndPlay(): string[] {
  const hook = process.versions.pnp && resolvePeer("pnpapi", peerPlaces(import.meta.url));
  return hook ? ["--require", hook] : [];
}
