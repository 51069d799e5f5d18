import { OutboxError } from "../../../shared/errors.js";
import { createProcessHooks } from "../../../shared/process-hooks.js";
import { clearTimeout, setImmediate, setTimeout } from "../../../shared/real-timers.js";
import { closed } from "../../outbox.js";
import type { Call, DiskClaim } from "../store/calls.js";
import type { Done, Reply, ThreadOptions } from "./protocol.js";
import { startThread, type Thread } from "./worker.js";

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
  snapshot: { counts: [], leases: new Map() },
  dropped: [],
  problems: [],
};

const BATCH = 200;
const RESTART_MS = 1_000;

const atExit = createProcessHooks("exit");

/**
 * Starts the outbox's thread, and waits until it has opened its file, so that a problem shows at
 * the start. From then on the main thread never waits. The calls of one tick go out together, and
 * the next when these are answered. If the thread ends by itself, another one goes on with what is
 * `underWay`.
 *
 * @throws OutboxError
 */
export function openLink(
  options: Omit<ThreadOptions, "signals" | "inherited">,
  { onDone, underWay }: { onDone: (reply: Done) => void; underWay: () => readonly DiskClaim[] },
) {
  const waiting: Question[] = [];
  /** What the thread was sent and has not answered. */
  let asked: readonly Question[] = [];
  let last = NOTHING_KNOWN;
  let scheduled = false;
  let refusing: Error | undefined;
  let isClosed = false;
  let whenIdle = () => {};
  let restart: NodeJS.Timeout | undefined;
  let thread: Thread | undefined = startThread(options, receive, lose);

  const first = thread.waitForReply();
  // A full disk may have space soon. All other problems are for the host to solve.
  if (first.type === "failed" && first.code !== "ERR_AFFILIATE_DISK_FULL") {
    thread.abandon();
    throw new OutboxError(first.code, first.message);
  }
  if (first.type !== "failed") last = first;

  function start(): void {
    if (thread) return;
    try {
      thread = startThread({ ...options, inherited: underWay() }, receive, lose);
    } catch (error) {
      // The machine or its container has as many threads as it may have.
      lose(error as Error);
    }
  }

  function schedule(): void {
    if (scheduled || asked.length > 0 || waiting.length === 0) return;
    scheduled = true;
    // A tick later: the claim that follows a verdict goes with it, in one transaction.
    setImmediate(() =>
      setImmediate(() => {
        scheduled = false;
        if (waiting.length > 0) send();
      }),
    );
  }

  function send(): void {
    asked = waiting.splice(0, BATCH);
    start();
    thread?.send(asked.map(({ call }) => call));
  }

  function receive(reply: Reply): void {
    if (reply.type === "failed") {
      fail(new OutboxError(reply.code, reply.message));
      return;
    }
    last = reply;
    onDone(reply);
    if (reply.type === "done") {
      const answered = asked;
      asked = [];
      for (const [nth, result] of reply.results.entries()) answered[nth]?.resolve(result);
      schedule();
    }
    rest();
  }

  function rest(): void {
    if (asked.length + waiting.length > 0) return;
    whenIdle();
    thread?.rest();
  }

  /** Fails all that was asked: otherwise a later event could be stored before an earlier one. */
  function fail(error: Error): void {
    refusing = error;
    setImmediate(() => {
      refusing = undefined;
    });
    const failed = [...asked, ...waiting.splice(0)];
    asked = [];
    rest();
    for (const { reject } of failed) reject(error);
  }

  function lose(cause: Error): void {
    thread = undefined;
    // Another process may take over what was claimed: nothing of it leaves until it is renewed.
    last = { ...last, snapshot: { ...last.snapshot, leases: new Map() } };
    clearTimeout(restart);
    // Even if no call waits: the thread takes over from ended processes.
    restart = setTimeout(start, RESTART_MS).unref();
    const message = `diskOutbox: its thread ended (${cause.message})`;
    fail(new OutboxError("ERR_AFFILIATE_DISK_UNUSABLE", message, { cause }));
  }

  /** The thread ends first: torn out of SQLite's native code by `process.exit`, it would abort. */
  function endWithProcess(): void {
    if (!thread) return;
    while (waiting.length > 0) send();
    thread.end();
  }

  atExit.add(endWithProcess);
  return {
    get last(): Done {
      return last;
    },
    /** Rejects with an OutboxError. How far the calls of its batch got may then be unknown. */
    ask(call: Call): Promise<unknown> {
      return new Promise((resolve, reject) => {
        if (isClosed) return reject(closed("diskOutbox"));
        if (refusing) return reject(refusing);
        waiting.push({ call, resolve, reject });
        schedule();
      });
    },
    /** Ends the thread once it has answered everything. */
    async close(): Promise<void> {
      while (asked.length + waiting.length > 0) {
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
