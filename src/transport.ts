import type { Dispatcher } from "undici";
import type { Clock } from "./clock.js";
import { createDispatcher, type DispatcherOptions } from "./dispatcher.js";
import { timersAreFaked } from "./real-timers.js";

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

export interface Transport {
  send(call: Call): Promise<Attempt>;
  /** Ends every attempt under way; each resolves with what is known of it. */
  abort(): void;
  close(): Promise<void>;
}

const LONGEST_BODY = 64 * 1024;

class AttemptAborted extends Error {
  readonly code = "UND_ERR_ABORTED";
}

class DeadlineExceeded extends Error {
  readonly code = "ERR_DEADLINE";
}

/** One pool of keep-alive connections to one origin. Single attempts; redirects are answers like any other. */
export function createTransport(options: TransportOptions): Transport {
  const { baseUrl, timeoutMs, clock } = options;
  const prefix = baseUrl.pathname.replace(/\/+$/, "");
  const underWay = new Set<AttemptHandler>();
  const connections = createDispatcher(options);
  // Undici waits for a fake timer before it uses a connection again. Tests that fake them get a new one for each call.
  let fresh: Dispatcher | undefined;

  return {
    send(call) {
      return new Promise((resolve) => {
        const attempt = new AttemptHandler((result) => {
          cancelDeadline();
          underWay.delete(attempt);
          resolve(result);
        });
        underWay.add(attempt);
        const cancelDeadline = clock.after(timeoutMs, () =>
          attempt.stop(new DeadlineExceeded(`no complete answer within ${timeoutMs} ms`)),
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
      for (const attempt of underWay) attempt.stop(new AttemptAborted("the tracker was closed"));
    },
    async close() {
      const destroyed = Promise.all([connections.destroy(), fresh?.destroy()]);
      // Undici tells of it by a microtask, which Jest fakes as well.
      if (!timersAreFaked()) await destroyed;
    },
  };
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
  #settled = false;
  #controller: Dispatcher.DispatchController | undefined;
  #stopped: Error | undefined;
  #head: { status: number; retryAfter?: string } | undefined;
  #chunks: Buffer[] = [];
  #length = 0;

  constructor(settle: (result: Attempt) => void) {
    this.#settle = settle;
  }

  stop(reason: Error): void {
    this.#stopped = reason;
    // Still waiting for a connection: undici hands out the controller only when there is one.
    if (this.#controller) this.#controller.abort(reason);
    this.#finish(reason);
  }

  /** Called just before the request's head is written: what tells "never sent" from "perhaps taken". */
  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (this.#stopped) controller.abort(this.#stopped);
    else this.#controller = controller;
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
        requestSent: this.#controller !== undefined,
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
