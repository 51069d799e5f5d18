import type { Dispatcher } from "undici";
import type { Clock } from "../shared/clock.js";
import { errorFrom } from "../shared/errors.js";
import { LinkedList } from "../shared/linked-list.js";
import { clearInterval, setImmediate, setInterval, timersAreFaked } from "../shared/real-timers.js";
import { withoutTrailingSlashes } from "../shared/text.js";
import { type Attempt, AttemptHandler, HeldBack, unsendable } from "./attempt.js";
import type { Call } from "./calls.js";
import { createConnections } from "./connections.js";
import type { DispatcherOptions } from "./dispatcher.js";

export interface TransportOptions extends DispatcherOptions {
  /** For a whole attempt, from the call to the last byte of the answer. */
  readonly timeoutMs: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly clock: Clock;
}

interface SendOptions {
  /** Called just before the request is written to a connection. `false`: nothing is sent. */
  readonly mayLeave?: () => boolean;
  /** How long the body is waited for after its head. Default: `timeoutMs`. */
  readonly bodyMs?: number;
  /**
   * A call that the host awaits: it keeps the process alive, and has its own connections, so that
   * it delays no event. Default: false.
   */
  readonly isOfHost?: boolean;
}

export type Transport = ReturnType<typeof createTransport>;

// If a timer fires later than this, the whole process stood still.
const TOLERANCE_MS = 1_000;
// A short tick: a connection may idle for so much longer than the dispatcher allows.
const TICK_MS = 200;

const tooLate = (what: string, ms: number) =>
  Object.assign(new Error(`${what} within ${ms} ms`), { code: "ERR_DEADLINE" });
const aborted = () => new HeldBack("ERR_ABORTED", "the tracker was closed");
const claimLost = () => new HeldBack("ERR_CLAIM_LOST", "another process has taken the event over");
const stoodStill = () =>
  new HeldBack("ERR_STOOD_STILL", "this process stood still before it could send the event");

/**
 * Sends requests over keep-alive connections to one origin. A redirect is an answer, and not
 * followed.
 *
 * @throws OptionsError if the environment's proxy has no usable address.
 */
export function createTransport(options: TransportOptions) {
  const { baseUrl, timeoutMs, headers, clock } = options;
  const prefix = withoutTrailingSlashes(baseUrl.pathname);
  const underWay = new LinkedList<AttemptHandler>();
  const connections = createConnections(options);
  const connectionsOfHost = createConnections(options);
  let turnedAt = Number.NEGATIVE_INFINITY;
  let isWatching = false;

  /** Notes when the event loop next turns: it does not while the process stands still. */
  function watchTurn(): void {
    if (isWatching) return;
    isWatching = true;
    setImmediate(() => {
      isWatching = false;
      turnedAt = clock.monotonic();
    });
  }

  return {
    /** Loads what the first attempt would wait for, if events will be sent. */
    prepare: connections.prepare,
    send(call: Call, options: SendOptions = {}): Promise<Attempt> {
      const { mayLeave = () => true, bodyMs = timeoutMs, isOfHost = false } = options;
      let request: Dispatcher.DispatchOptions;
      try {
        request = { origin: baseUrl.origin, ...requestFor(call, prefix, headers) };
      } catch (error) {
        return Promise.resolve(unsendable(errorFrom(error)));
      }
      return new Promise((resolve) => {
        const deadline = clock.monotonic() + timeoutMs;
        let cancelBody = () => {};
        const attempt = new AttemptHandler({
          refusal() {
            // After a standstill, a connection may be ready before the deadline's timer fires.
            if (clock.monotonic() >= deadline) return tooLate("no complete answer", timeoutMs);
            return mayLeave() ? undefined : claimLost();
          },
          onHead() {
            if (bodyMs < timeoutMs) cancelBody = stopAfter(bodyMs, "no end of the answer's body");
          },
          onEnd(result) {
            cancelDeadline();
            cancelBody();
            clearInterval(alive);
            watchTurn();
            underWay.remove(attempt);
            const hasStoodStill = clock.monotonic() > deadline + TOLERANCE_MS;
            const isUnsent = result.type === "no-answer" && !result.requestSent;
            resolve(isUnsent && hasStoodStill ? { ...result, error: stoodStill() } : result);
          },
        });
        const cancelDeadline = stopAfter(timeoutMs, "no complete answer");
        const alive = isOfHost ? setInterval(() => {}, timeoutMs) : undefined;
        underWay.append(attempt);

        // After a standstill, the timer fires in the tick that reads the answer, and before it.
        function stopAfter(ms: number, what: string): () => void {
          return clock.after(ms, () => afterTick(() => attempt.stop(tooLate(what, ms))));
        }

        const { dispatch: dispatchBy } = isOfHost ? connectionsOfHost : connections;
        const dispatch = () => dispatchBy(request, attempt);
        // After a standstill, undici must first see what the service closed, and close idle ones.
        if (timersAreFaked() || clock.monotonic() - turnedAt <= TICK_MS) dispatch();
        else afterTick(dispatch);
        watchTurn();
      });
    },
    /** Ends all attempts. Each resolves with what is known of it. */
    abort(): void {
      afterTick(() => {
        for (const attempt of [...underWay]) attempt.stop(aborted());
      });
    },
    async close(): Promise<void> {
      await Promise.all([connections.close(), connectionsOfHost.close()]);
    },
  };
}

function requestFor(
  call: Call,
  prefix: string,
  headers: TransportOptions["headers"],
): Omit<Dispatcher.DispatchOptions, "origin"> {
  const { method, path, body, idempotencyKey } = call;
  return {
    method,
    path: prefix + path,
    headers: { "content-type": body && "application/json", "idempotency-key": idempotencyKey, ...headers },
    body: body ? JSON.stringify(body) : null,
  };
}

/** Runs `task` once timers that are due have fired and data in the sockets has been read. */
function afterTick(task: () => void): void {
  setImmediate(() => setImmediate(task));
}
