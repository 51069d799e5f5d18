import type { Dispatcher } from "undici";
import type { Clock } from "../shared/clock.js";
import { timersAreFaked } from "../shared/real-timers.js";
import { createDispatcher, type DispatcherOptions } from "./dispatcher.js";

/** One HTTP request to the service, before it is one: `path` is what follows the base URL. */
export interface Call {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly body?: object;
  readonly idempotencyKey?: string;
}

/** What became of one attempt. There is no third case, and neither is an exception. */
export type Attempt = Answer | Silence;

/** The head of a response arrived. */
export interface Answer {
  readonly answered: true;
  readonly status: number;
  readonly retryAfter?: string;
  /** The body as JSON; `undefined` where it is none, broke off, or went on for more than 64 KiB. */
  readonly body: unknown;
}

/** No head of a response arrived. */
export interface Silence {
  readonly answered: false;
  /** Whether the request's head was handed to a connected socket, from where nobody can tell how far it got. */
  readonly requestSent: boolean;
  readonly error: Error;
}

export interface TransportOptions extends DispatcherOptions {
  /** For the whole attempt, from the call to the last byte that is read of the answer. */
  readonly timeoutMs: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly clock: Clock;
}

export interface SendOptions {
  /** Asked once a connection stands, just before the request's head is handed to it: where it says no, nothing is sent. */
  readonly mayLeave?: () => boolean;
}

export interface Transport {
  send(call: Call, options?: SendOptions): Promise<Attempt>;
  /** Ends every attempt under way; each resolves with what is known of it. */
  abort(): void;
  close(): Promise<void>;
}

const LONGEST_BODY = 64 * 1024;

// A deadline that comes due later than this is late because nothing in this process was running.
const TOLERANCE_MS = 1_000;

/** Why an attempt was given up on this side. The codes are for `outcomeOf`, and never leave the package. */
class Withdrawn extends Error {
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

const tooLate = (ms: number) => new Withdrawn("ERR_DEADLINE", `no complete answer within ${ms} ms`);
const aborted = () => new Withdrawn("UND_ERR_ABORTED", "the tracker was closed");
const claimLost = () => new Withdrawn("ERR_CLAIM_LOST", "another process has taken the event over");
const stoodStill = () =>
  new Withdrawn("ERR_STOOD_STILL", "this process stood still before it could send the event");

/** One pool of keep-alive connections to one origin. Single attempts; redirects are answers like any other. */
export function createTransport(options: TransportOptions): Transport {
  const { baseUrl, timeoutMs, clock } = options;
  const prefix = baseUrl.pathname.replace(/\/+$/, "");
  const underWay = new Set<AttemptHandler>();
  const connections = createDispatcher(options);
  // Undici waits for a fake timer before it uses a connection again. Tests that fake them get a new one for each call.
  let fresh: Dispatcher | undefined;

  return {
    send(call, { mayLeave = () => true } = {}) {
      return new Promise((resolve) => {
        const deadline = clock.monotonic() + timeoutMs;
        const attempt = new AttemptHandler({
          refusal() {
            // A connection may come in the turn of the event loop in which the deadline is late.
            if (clock.monotonic() >= deadline) return tooLate(timeoutMs);
            return mayLeave() ? undefined : claimLost();
          },
          settle(result) {
            cancelDeadline();
            underWay.delete(attempt);
            const hasStoodStill = clock.monotonic() > deadline + TOLERANCE_MS;
            const isUnsent = !result.answered && !result.requestSent;
            resolve(isUnsent && hasStoodStill ? { ...result, error: stoodStill() } : result);
          },
        });
        underWay.add(attempt);
        const cancelDeadline = clock.after(timeoutMs, () =>
          afterReading(() => attempt.stop(tooLate(timeoutMs))),
        );
        try {
          const isFaked = timersAreFaked();
          if (isFaked) fresh ??= createDispatcher(options);
          const pool = (isFaked && fresh) || connections;
          const request = requestFor(call, prefix, options.headers);
          pool.dispatch({ origin: baseUrl.origin, ...request, reset: isFaked }, attempt);
        } catch (error) {
          attempt.onResponseError(undefined, error as Error);
        }
      });
    },
    abort() {
      afterReading(() => {
        for (const attempt of underWay) attempt.stop(aborted());
      });
    },
    async close() {
      const destroyed = Promise.all([connections.destroy(), fresh?.destroy()]);
      // Undici tells of it by a microtask, which Jest fakes as well.
      if (!timersAreFaked()) await destroyed;
    },
  };
}

/**
 * Runs `judge` once what lies in the sockets has been read. Where this process stood still, the deadline comes due in the
 * same turn of the event loop in which the answer is found, and before it.
 */
function afterReading(judge: () => void): void {
  setImmediate(() => setImmediate(judge));
}

function requestFor(
  call: Call,
  prefix: string,
  headers: TransportOptions["headers"],
): Dispatcher.DispatchOptions {
  const { method, path, body, idempotencyKey } = call;
  return {
    method,
    path: prefix + path,
    headers: {
      "content-type": body && "application/json",
      "idempotency-key": idempotencyKey,
      ...headers,
    },
    body: body ? JSON.stringify(body) : null,
  };
}

/** Watches one request from undici's side. Settles once, whatever comes later and in whatever order. */
class AttemptHandler implements Dispatcher.DispatchHandler {
  readonly #settle: (result: Attempt) => void;
  readonly #refusal: () => Error | undefined;
  #settled = false;
  #requestSent = false;
  #controller: Dispatcher.DispatchController | undefined;
  #stopped: Error | undefined;
  #head: { status: number; retryAfter?: string } | undefined;
  #chunks: Buffer[] = [];
  #length = 0;

  /** @param options.refusal why the request must not leave after all, if it must not. */
  constructor(options: { settle: (result: Attempt) => void; refusal: () => Error | undefined }) {
    this.#settle = options.settle;
    this.#refusal = options.refusal;
  }

  stop(reason: Error): void {
    this.#stopped = reason;
    // Still waiting for a connection: undici hands out the controller only when there is one.
    if (this.#controller) this.#controller.abort(reason);
    this.#finish(reason);
  }

  /** Called just before the request's head is written: what tells "never sent" from "perhaps taken". */
  onRequestStart(controller: Dispatcher.DispatchController): void {
    const refusal = this.#stopped ?? this.#refusal();
    if (refusal) {
      controller.abort(refusal);
      this.#finish(refusal);
      return;
    }
    this.#controller = controller;
    this.#requestSent = true;
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    if (status < 200) return;
    const { "retry-after": said } = headers;
    const retryAfter = Array.isArray(said) ? said[0] : said;
    this.#head = { status, ...(retryAfter !== undefined && { retryAfter }) };
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#length += chunk.length;
    if (this.#length > LONGEST_BODY) {
      this.#chunks = [];
      controller.abort(new Error(`the answer's body is longer than ${LONGEST_BODY} bytes`));
    } else {
      this.#chunks.push(chunk);
    }
  }

  onResponseEnd(): void {
    this.#finish(undefined);
  }

  onResponseError(_controller: unknown, error: Error & { data?: unknown }): void {
    // Undici's parser error quotes what came instead of HTTP: anything may be in it, our own key included.
    delete error.data;
    this.#finish(error);
  }

  #finish(error: Error | undefined): void {
    if (this.#settled) return;
    this.#settled = true;
    if (this.#head) {
      this.#settle({ answered: true, body: error ? undefined : jsonOf(this.#chunks), ...this.#head });
    } else {
      this.#settle({
        answered: false,
        requestSent: this.#requestSent,
        error: error ?? new Error("the connection ended before an answer"),
      });
    }
  }
}

function jsonOf(chunks: readonly Buffer[]): unknown {
  try {
    return JSON.parse(chunks.length === 1 ? String(chunks[0]) : Buffer.concat(chunks).toString());
  } catch {
    return undefined;
  }
}
