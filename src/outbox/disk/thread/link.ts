import { randomUUID } from "node:crypto";
import { OutboxError } from "../../../shared/errors.js";
import { createProcessHooks } from "../../../shared/process-hooks.js";
import { clearTimeout, setImmediate, setTimeout } from "../../../shared/real-timers.js";
import { closed } from "../../outbox.js";
import type { DiskClaim, Request, Results } from "../store/requests.js";
import type { Done, Question, Reply, ThreadOptions } from "./protocol.js";
import { startThread, type Thread } from "./worker.js";

export type Link = ReturnType<typeof openLink>;

/** What is known before the file could be opened. */
const NOTHING_KNOWN: Done = {
  type: "done",
  snapshot: { counts: [], leases: new Map() },
  dropped: [],
  problems: [],
};

const BATCH = 200;
// The thread works on one, and finds the next when it is done.
const BATCHES = 2;
const RESTART_MS = 1_000;

const atExit = createProcessHooks("exit");

/**
 * Starts the outbox's thread, and waits until it has opened its file, so that a problem shows at
 * the start. From then on the main thread never waits. The requests of one tick go out together.
 * If it ends by itself, another one goes on with what is `underWay`.
 *
 * @throws OutboxError
 */
export function openLink(
  options: Omit<ThreadOptions, "signals" | "owner" | "inherited">,
  { onDone, underWay }: { onDone: (reply: Done) => void; underWay: () => readonly DiskClaim[] },
) {
  const questions: Question[] = [];
  const asked: (readonly Question[])[] = [];
  let last = NOTHING_KNOWN;
  let generation = 0;
  let scheduled = false;
  let refusing: Error | undefined;
  let isClosed = false;
  let whenIdle = () => {};
  let restart: NodeJS.Timeout | undefined;
  const owner = randomUUID();
  let clientId: number | undefined;
  let thread: Thread | undefined = begin();

  const first = thread.waitForReply();
  // A full disk may have space soon. All other problems are for the host to solve.
  if (first.type === "failed" && first.code !== "ERR_AFFILIATE_DISK_FULL") {
    thread.abandon();
    throw new OutboxError(first.code, first.message);
  }
  if (first.type === "done") last = first;

  function begin(inherited?: readonly DiskClaim[]): Thread {
    return startThread({ ...options, owner, clientId, inherited }, receive, lose);
  }

  function start(): void {
    if (thread) return;
    try {
      thread = begin(underWay());
      // At once: the earlier thread's lock is gone.
      thread.post("open");
    } catch (error) {
      // The machine or its container has as many threads as it may have.
      lose(error as Error);
    }
  }

  function schedule(): void {
    if (scheduled || asked.length >= BATCHES || questions.length === 0) return;
    scheduled = true;
    // A tick later: the claim that follows a verdict goes with it, in one transaction.
    setImmediate(() => setImmediate(sendNext));
  }

  function sendNext(): void {
    scheduled = false;
    if (questions.length > 0) send();
    schedule();
  }

  function send(): void {
    const batch = questions.splice(0, BATCH);
    asked.push(batch);
    start();
    thread?.send({ requests: batch.map(({ request }) => request), generation });
  }

  function receive(reply: Reply): void {
    if (reply.type === "failed") {
      if (reply.generation === generation) fail(new OutboxError(reply.code, reply.message));
      return;
    }
    last = reply;
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

  /** Fails all that was asked: otherwise a later event could be stored before an earlier one. */
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
    // Another process may take over what was claimed: nothing of it leaves until it is renewed.
    last = { ...last, snapshot: { ...last.snapshot, leases: new Map() } };
    clearTimeout(restart);
    // Even if no request waits: the thread takes over from ended processes.
    restart = setTimeout(start, RESTART_MS).unref();
    const message = `diskOutbox: its thread ended (${cause.message})`;
    fail(new OutboxError("ERR_AFFILIATE_DISK_UNUSABLE", message, { cause }));
  }

  /** The thread ends first: torn out of SQLite's native code by `process.exit`, it would abort. */
  function endWithProcess(): void {
    if (!thread) return;
    while (questions.length > 0) send();
    thread.end();
  }

  atExit.add(endWithProcess);
  return {
    get last(): Done {
      return last;
    },
    owner,
    /** Makes this thread, and each further one, be about the events of this client id. */
    bind(id: number): void {
      clientId = id;
      thread?.post(id);
    },
    /** Rejects with an OutboxError. How far the requests of its batch got may then be unknown. */
    ask<R extends Request>(request: R): Promise<Results[R["type"]]> {
      return new Promise((resolve, reject) => {
        if (isClosed) return reject(closed("diskOutbox"));
        if (refusing) return reject(refusing);
        questions.push({ request, resolve: resolve as Question["resolve"], reject });
        schedule();
      });
    },
    /** Ends the thread once it has answered everything. */
    async close(): Promise<void> {
      while (asked.length + questions.length > 0) {
        await new Promise<void>((resolve) => {
          whenIdle = resolve;
        });
      }
      isClosed = true;
      clearTimeout(restart);
      await thread?.stop();
      // Not before: the host may exit meanwhile.
      atExit.remove(endWithProcess);
    },
  };
}
