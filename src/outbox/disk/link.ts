import source from "inline:../../engine/disk-thread.ts";
import { MessageChannel, receiveMessageOnPort, SHARE_ENV, Worker } from "node:worker_threads";
import { OutboxError } from "../../shared/errors.js";
import { createProcessHooks } from "../../shared/process-hooks.js";
import { clearTimeout, setImmediate, setTimeout } from "../../shared/real-timers.js";
import type { RemoteDelivery } from "../outbox.js";
import {
  type Batch,
  type Done,
  type Message,
  type Reply,
  type Request,
  type Result,
  type Results,
  SIGNALS,
  type ThreadOptions,
} from "./protocol.js";

export interface Link {
  /** How things stood when the file was opened. */
  readonly first: Done;
  /** Rejects with an OutboxError; then nothing of what was asked at the same time has happened, or how far it got is unknown. */
  ask<R extends Request>(request: R): Promise<Results[R["type"]]>;
  /** Has the thread deliver, by a plan that is asked for each time a thread begins. */
  deliver(engine: Pick<RemoteDelivery, "plan" | "lost">): void;
  /** Tells the thread's engine to begin no attempt any more, or to end those that are under way. */
  tell(order: "stop" | "abort"): void;
  /** Ends the thread once it has answered everything, and all verdicts are stored. */
  close(): Promise<void>;
}

interface Question {
  readonly request: Request;
  resolve(result: Result): void;
  reject(error: Error): void;
}

const BATCH = 200;
// One that the thread works at, and one that it finds when it is done.
const BATCHES = 2;
const RESTART_MS = 1_000;
const LONGEST_START_MS = 10_000;
const LONGEST_END_MS = 5_000;

const atExit = createProcessHooks("exit");

/**
 * Starts the outbox's thread, and waits until it has opened its file: what is wrong at the start is said at the start.
 * From then on the main thread never waits: questions go out once a turn of the event loop, those of one turn together.
 *
 * @throws OutboxError
 */
export function openLink(options: Omit<ThreadOptions, "signals">, onDone: (reply: Done) => void): Link {
  const questions: Question[] = [];
  const asked: (readonly Question[])[] = [];
  let generation = 0;
  let scheduled = false;
  let refusing: Error | undefined;
  let whenIdle = () => {};
  let restart: NodeJS.Timeout | undefined;
  let engine: Pick<RemoteDelivery, "plan" | "lost"> | undefined;
  /** Whether the thread delivers something at this moment: then the process lives on. */
  let isDelivering = false;
  let thread: Thread | undefined = startThread(options, hear, lose);

  const first = thread.waitForReply();
  if (first.type === "failed") {
    thread.abandon();
    throw new OutboxError(first.code, first.message);
  }

  function start(): Thread {
    const started = startThread(options, hear, lose);
    if (engine) started.post({ deliver: engine.plan() });
    return started;
  }

  function schedule(): void {
    if (scheduled || asked.length >= BATCHES || questions.length === 0) return;
    scheduled = true;
    setImmediate(sendNext);
  }

  function sendNext(): void {
    scheduled = false;
    if (questions.length > 0) send();
    schedule();
  }

  function send(): void {
    const batch = questions.splice(0, BATCH);
    asked.push(batch);
    thread ??= start();
    thread.send({ requests: batch.map(({ request }) => request), generation });
  }

  function hear(reply: Reply): void {
    if (reply.type === "failed") {
      if (reply.generation === generation) fail(new OutboxError(reply.code, reply.message));
      return;
    }
    isDelivering = reply.engine?.idle === false;
    onDone(reply);
    if (reply.results) {
      const answered = asked.shift() ?? [];
      for (const [nth, result] of reply.results.entries()) answered[nth]?.resolve(result);
      schedule();
    }
    rest();
  }

  function rest(): void {
    if (asked.length + questions.length > 0) return;
    whenIdle();
    if (isDelivering) thread?.work();
    else thread?.rest();
  }

  /** All that was asked fails together, and so does what is asked before the callers have heard of it: else it would overtake. */
  function fail(error: Error): void {
    generation++;
    refusing = error;
    setImmediate(() => {
      refusing = undefined;
    });
    const failed = [...asked.splice(0).flat(), ...questions.splice(0)];
    rest();
    for (const { reject } of failed) reject(error);
  }

  function lose(cause: Error): void {
    thread = undefined;
    isDelivering = false;
    engine?.lost();
    clearTimeout(restart);
    // Also where nothing is asked: it takes over what processes that have ended have left behind.
    restart = setTimeout(() => {
      thread ??= start();
    }, RESTART_MS).unref();
    fail(new OutboxError("ERR_AFFILIATE_DISK_UNUSABLE", "diskOutbox: its thread ended", { cause }));
  }

  /** `process.exit` would tear the thread out of SQLite's native code, which then aborts the process: it ends first. */
  function endWithProcess(): void {
    if (!thread) return;
    while (questions.length > 0) send();
    thread.end();
  }

  atExit.add(endWithProcess);
  return {
    first,
    ask(request) {
      return new Promise((resolve, reject) => {
        if (refusing) return reject(refusing);
        questions.push({ request, resolve: resolve as (result: Result) => void, reject });
        schedule();
      });
    },
    deliver(remote) {
      engine = remote;
      thread?.post({ deliver: remote.plan() });
    },
    tell(order) {
      if (order === "stop") engine = undefined;
      thread?.post(order);
    },
    async close() {
      while (asked.length + questions.length > 0) {
        await new Promise<void>((resolve) => {
          whenIdle = resolve;
        });
      }
      atExit.remove(endWithProcess);
      clearTimeout(restart);
      await thread?.stop();
    },
  };
}

interface Thread {
  send(batch: Batch): void;
  /** Sends it what it does not answer. */
  post(message: Message): void;
  /** From here on it keeps the process alive. */
  work(): void;
  /** From here on it keeps no process alive, until it is sent something. */
  rest(): void;
  waitForReply(): Reply;
  /** Has it end as soon as it can. The process does not wait for it, and does not tear it out of SQLite's native code either. */
  abandon(): void;
  /** Ends it here and now, once it has done what it was sent. */
  end(): void;
  stop(): Promise<void>;
}

function startThread(
  options: Omit<ThreadOptions, "signals">,
  hear: (reply: Reply) => void,
  lose: (error: Error) => void,
): Thread {
  const signals = new Int32Array(new SharedArrayBuffer(8));
  const { port1: port, port2 } = new MessageChannel();
  const worker = new Worker(source, {
    eval: true,
    name: "express-affiliate",
    // Nothing of what the host loads into its own threads.
    execArgv: [],
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
    // What it said last.
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
    work: () => worker.ref(),
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
