import { randomUUID } from "node:crypto";
import { OutboxError } from "../../shared/errors.js";
import { createProcessHooks } from "../../shared/process-hooks.js";
import { clearTimeout, setImmediate, setTimeout } from "../../shared/real-timers.js";
import type { RemoteDelivery } from "../remote.js";
import type { Done, Order, Question, Reply, Request, Results, ThreadOptions } from "./protocol.js";
import { startThread, type Thread } from "./worker.js";

export interface Link {
  /** The reply to the opening of the file; `failed` only if its disk is full. */
  readonly first: Reply;
  /** The name of the thread that runs. */
  readonly owner: string;
  /** Rejects with an OutboxError: then no request of the same batch was carried out, or how far they got is unknown. */
  ask<R extends Request>(request: R): Promise<Results[R["type"]]>;
  /** Makes the thread deliver. `plan` is called each time a thread begins. */
  deliver(engine: Pick<RemoteDelivery, "plan" | "lost">): void;
  /** Tells the thread's engine what to do. */
  tell(order: Order): void;
  /** Ends the thread once it has answered everything, and all verdicts are stored. */
  close(): Promise<void>;
}

const BATCH = 200;
// The thread works on one, and finds the next when it is done.
const BATCHES = 2;
const RESTART_MS = 1_000;

const atExit = createProcessHooks("exit");

/**
 * Starts the outbox's thread, and waits until it has opened its file, so that a problem shows at the start. From then on the
 * main thread never waits: the requests of one tick go out together.
 *
 * @param parts.onStart called with the name of each further thread, before it begins.
 * @throws OutboxError
 */
export function openLink(
  options: Omit<ThreadOptions, "signals" | "owner">,
  { onDone, onStart }: { onDone: (reply: Done) => void; onStart: (owner: string) => void },
): Link {
  const questions: Question[] = [];
  const asked: (readonly Question[])[] = [];
  let generation = 0;
  let scheduled = false;
  let refusing: Error | undefined;
  let whenIdle = () => {};
  let restart: NodeJS.Timeout | undefined;
  let engine: Pick<RemoteDelivery, "plan" | "lost"> | undefined;
  let owner = randomUUID();
  let thread: Thread | undefined = startThread({ ...options, owner }, hear, lose);

  const first = thread.waitForReply();
  // A disk that is full now may have space soon. Everything else is for the host to mend.
  if (first.type === "failed" && first.code !== "ERR_AFFILIATE_DISK_FULL") {
    thread.abandon();
    throw new OutboxError(first.code, first.message);
  }

  function start(): Thread {
    owner = randomUUID();
    onStart(owner);
    const started = startThread({ ...options, owner }, hear, lose);
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
    thread?.rest();
  }

  /** All requests fail together, and so do those that come before the callers have heard of it: else a later event would overtake. */
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
    engine?.lost();
    clearTimeout(restart);
    // Even with no request waiting: the thread takes over from processes that have ended.
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
    get owner() {
      return owner;
    },
    ask(request) {
      return new Promise((resolve, reject) => {
        if (refusing) return reject(refusing);
        questions.push({ request, resolve: resolve as Question["resolve"], reject });
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
      clearTimeout(restart);
      await thread?.stop();
      // Not before: the host may exit meanwhile.
      atExit.remove(endWithProcess);
    },
  };
}
