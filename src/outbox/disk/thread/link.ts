import source from "inline:./thread.ts";
import { MessageChannel, receiveMessageOnPort, Worker } from "node:worker_threads";
import { OutboxError } from "../../../shared/errors.js";
import { peerPlaces, resolvePeer } from "../../../shared/peer.js";
import { clearTimeout, setImmediate, setTimeout } from "../../../shared/real-timers.js";
import { closed } from "../../outbox.js";
import type { Call, DiskClaim } from "../store/calls.js";
import { type Done, type Message, type Reply, SIGNALS, type ThreadOptions } from "./protocol.js";

export type Link = ReturnType<typeof openLink>;

interface Question {
  readonly call: Call;
  resolve(result: unknown): void;
  reject(error: Error): void;
}

/** What is known before the file could be opened. */
const NOTHING_KNOWN: Done = {
  type: "looked",
  results: [],
  counts: [],
  leases: new Map(),
  dropped: [],
  problems: [],
};

const BATCH = 200;
const RESTART_MS = 1_000;
const LONGEST_START_MS = 10_000;
const LONGEST_END_MS = 5_000;

/**
 * Starts the outbox's thread, and waits until it has opened its file, so that a problem shows at
 * the start. From then on the main thread never waits. The calls of one tick go out together, once
 * those before them are answered. A claim goes at once if nothing is unanswered. If the thread ends
 * by itself, another one goes on with what is `underWay`. It keeps no process alive but while it has
 * something to answer.
 *
 * @throws OutboxError
 */
export function openLink(
  options: Omit<ThreadOptions, "signals" | "inherited" | "clientId">,
  { onDone, underWay }: { onDone: (reply: Done) => void; underWay: () => readonly DiskClaim[] },
) {
  const waiting: Question[] = [];
  /** What the thread was sent and has not answered. */
  const asked: (readonly Question[])[] = [];
  let generation = 0;
  let last = NOTHING_KNOWN;
  let scheduled = false;
  let refusing: Error | undefined;
  let isClosed = false;
  let clientId: number | undefined;
  let restart: NodeJS.Timeout | undefined;
  let thread: ReturnType<typeof begin> | undefined = begin();

  const first = waitForReply(thread);
  // A full disk may have space soon. All other problems are for the host to solve.
  if (first.type === "failed" && first.code !== "ERR_AFFILIATE_DISK_FULL") {
    // It ends when it can: the process neither waits nor stops it inside SQLite's native code.
    isClosed = true;
    thread.port.postMessage("close");
    throw new OutboxError(first.code, first.message);
  }
  if (first.type !== "failed") last = first;

  function begin(inherited?: readonly DiskClaim[]) {
    const signals = new Int32Array(new SharedArrayBuffer(8));
    const { port1: port, port2 } = new MessageChannel();
    const worker = new Worker(source, {
      eval: true,
      name: "express-affiliate",
      // Only Yarn's of the host's flags: what the others load has nothing to do here.
      execArgv: plugAndPlay(),
      workerData: { ...options, clientId, inherited, signals, port: port2 },
      transferList: [port2],
    });
    const ended = new Promise<void>((resolve) => worker.once("exit", () => resolve()));
    let hasEnded = false;
    const end = (error: Error) => {
      if (hasEnded) return;
      hasEnded = true;
      for (let reply = receiveMessageOnPort(port); reply; reply = receiveMessageOnPort(port))
        receive(reply.message);
      port.close();
      lose(error);
    };
    port.on("message", receive);
    worker.once("error", end);
    worker.once("exit", (code) => end(new Error(`exit code ${code}`)));
    worker.unref();
    port.unref();
    return { worker, port, signals, ended };
  }

  function waitForReply({ port, signals }: ReturnType<typeof begin>): Reply {
    Atomics.wait(signals, SIGNALS.replied, 0, LONGEST_START_MS);
    const received = receiveMessageOnPort(port);
    if (received) return received.message;
    const message = `diskOutbox: ${options.path} could not be opened within ${LONGEST_START_MS / 1_000} s; see whether its disk answers`;
    return { type: "failed", code: "ERR_AFFILIATE_DISK_UNUSABLE", message };
  }

  function start(): void {
    if (thread) return;
    try {
      thread = begin(underWay());
    } catch (error) {
      // The machine or its container has as many threads as it may have.
      lose(error as Error);
    }
  }

  function post(message: Message): void {
    thread?.worker.ref();
    thread?.port.postMessage(message);
  }

  function schedule(): void {
    if (scheduled || asked.length > 0 || waiting.length === 0) return;
    scheduled = true;
    // A tick later: the claim that follows a verdict goes with it, in one transaction.
    setImmediate(() =>
      setImmediate(() => {
        scheduled = false;
        if (asked.length === 0 && waiting.length > 0) send();
      }),
    );
  }

  function sendAll(): void {
    while (waiting.length > 0) send();
  }

  function send(): void {
    const batch = waiting.splice(0, BATCH);
    asked.push(batch);
    start();
    post({ calls: batch.map(({ call }) => call), generation });
  }

  function receive(reply: Reply): void {
    if (reply.type === "failed") return void fail(new OutboxError(reply.code, reply.message));
    last = reply;
    onDone(reply);
    if (reply.type === "looked") return;
    const answered = asked.shift();
    for (const [nth, result] of reply.results.entries()) answered?.[nth]?.resolve(result);
    // Neither a claim nor a full batch waits for more calls.
    if (waiting.length >= BATCH || waiting.some(({ call }) => call.name === "claim")) send();
    else schedule();
    rest();
  }

  function rest(): void {
    if (asked.length + waiting.length === 0 && !isClosed) thread?.worker.unref();
  }

  /** Fails all that was asked: otherwise a later event could be stored before an earlier one. */
  function fail(error: Error): void {
    generation++;
    refusing = error;
    setImmediate(() => {
      refusing = undefined;
    });
    const failed = [...asked.splice(0).flat(), ...waiting.splice(0)];
    rest();
    for (const { reject } of failed) reject(error);
  }

  function lose(cause: Error): void {
    thread = undefined;
    // Another process may take over what was claimed: nothing of it leaves until it is renewed.
    last = { ...last, leases: new Map() };
    clearTimeout(restart);
    // Even if no call waits: the thread takes over from ended processes.
    if (!isClosed) restart = setTimeout(start, RESTART_MS).unref();
    const message = `diskOutbox: its thread ended (${cause.message})`;
    fail(new OutboxError("ERR_AFFILIATE_DISK_UNUSABLE", message, { cause }));
  }

  return {
    get last(): Done {
      return last;
    },
    /** Makes this thread, and each further one, be about the events of this client id. */
    bind(id: number): void {
      clientId = id;
      thread?.port.postMessage(id);
    },
    /** Rejects with an OutboxError. How far the calls of its batch got may then be unknown. */
    ask(call: Call): Promise<unknown> {
      return new Promise((resolve, reject) => {
        if (isClosed) return reject(closed("diskOutbox"));
        if (refusing) return reject(refusing);
        waiting.push({ call, resolve, reject });
        // The verdicts before it are waiting already, and go with it.
        if (call.name === "claim" && asked.length === 0) send();
        else schedule();
      });
    },
    /**
     * Blocks, for five seconds at most, until the thread has stored what was asked, has given back all
     * claims except the `begun` ones, and has ended. If `process.exit` stopped it inside SQLite's native
     * code, the process would abort.
     */
    endWithProcess(begun: readonly string[]): void {
      if (!thread) return;
      sendAll();
      post({ begun });
      Atomics.wait(thread.signals, SIGNALS.closed, 0, LONGEST_END_MS);
    },
    /** Ends the thread once it has answered all that was asked. */
    async close(): Promise<void> {
      sendAll();
      isClosed = true;
      clearTimeout(restart);
      post("close");
      await thread?.ended;
    },
  };
}

/** Yarn's Plug'n'Play packs modules into archives. Its hook reads them: often, a flag loads it. */
function plugAndPlay(): string[] {
  const hook = process.versions.pnp && resolvePeer("pnpapi", peerPlaces());
  return hook ? ["--require", hook] : [];
}
