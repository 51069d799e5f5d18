import source from "inline:./thread.ts";
import { MessageChannel, receiveMessageOnPort, Worker } from "node:worker_threads";
import { peerPlaces, resolvePeer } from "../../../shared/peer.js";
import type { Call } from "../store/calls.js";
import { type Message, type Reply, SIGNALS, type ThreadOptions } from "./protocol.js";

const LONGEST_START_MS = 10_000;
const LONGEST_END_MS = 5_000;

export type Thread = ReturnType<typeof startThread>;

/**
 * Starts the outbox's thread, which keeps no process alive until it is sent something.
 *
 * @param lose called when it has ended by itself.
 */
export function startThread(
  options: Omit<ThreadOptions, "signals">,
  onReply: (reply: Reply) => void,
  lose: (error: Error) => void,
) {
  const signals = new Int32Array(new SharedArrayBuffer(8));
  const { port1: port, port2 } = new MessageChannel();
  const worker = new Worker(source, {
    eval: true,
    name: "express-affiliate",
    // Only Yarn's of the host's flags: what the others load has nothing to do here.
    execArgv: plugAndPlay(),
    workerData: { ...options, signals, port: port2 },
    transferList: [port2],
  });
  const ended = new Promise<void>((resolve) => worker.once("exit", () => resolve()));
  let expected = false;
  port.on("message", onReply);
  worker.once("error", (error) => end(error));
  worker.once("exit", (code) => end(new Error(`exit code ${code}`)));

  function end(error: Error): void {
    for (let last = receiveMessageOnPort(port); last; last = receiveMessageOnPort(port))
      onReply(last.message);
    if (!expected) lose(error);
    expected = true;
    port.close();
  }

  const post = (message: Message): void => port.postMessage(message);

  function rest(): void {
    worker.unref();
    port.unref();
  }

  rest();
  return {
    send(calls: readonly Call[]): void {
      worker.ref();
      post(calls);
    },
    /** From here on it keeps no process alive, until it is sent something. */
    rest,
    /** The reply that says whether its file could be opened. */
    waitForReply(): Reply {
      Atomics.wait(signals, SIGNALS.replied, 0, LONGEST_START_MS);
      const received = receiveMessageOnPort(port);
      if (received) return received.message;
      const message = `diskOutbox: ${options.path} could not be opened within ${LONGEST_START_MS / 1_000} s; see whether its disk answers`;
      return { type: "failed", code: "ERR_AFFILIATE_DISK_UNUSABLE", message };
    },
    /** It ends when it can: the process neither waits nor stops it inside SQLite's native code. */
    abandon(): void {
      expected = true;
      post("close");
    },
    /** Blocks until it has done what it was sent, and has ended. */
    end(): void {
      post("end");
      Atomics.wait(signals, SIGNALS.closed, 0, LONGEST_END_MS);
    },
    stop(): Promise<void> {
      expected = true;
      worker.ref();
      post("close");
      return ended;
    },
  };
}

/** Yarn's Plug'n'Play packs modules into archives. Its hook reads them: often, a flag loads it. */
function plugAndPlay(): string[] {
  const hook = process.versions.pnp && resolvePeer("pnpapi", peerPlaces());
  return hook ? ["--require", hook] : [];
}
