import type { Dispatcher } from "undici";

const LONGEST_BODY = 64 * 1024;

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

/** Watches one request from undici's side. Ends once, whatever comes later and in whatever order. */
export class AttemptHandler implements Dispatcher.DispatchHandler {
  readonly #onEnd: (result: Attempt) => void;
  readonly #refusal: () => Error | undefined;
  #ended = false;
  #requestSent = false;
  #controller: Dispatcher.DispatchController | undefined;
  #stopped: Error | undefined;
  #head: { status: number; retryAfter?: string } | undefined;
  #chunks: Buffer[] = [];
  #length = 0;

  /** @param options.refusal why the request must not leave after all, if it must not. */
  constructor(options: { onEnd: (result: Attempt) => void; refusal: () => Error | undefined }) {
    this.#onEnd = options.onEnd;
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
    if (this.#ended) return;
    this.#ended = true;
    if (this.#head) {
      this.#onEnd({ answered: true, body: error ? undefined : jsonOf(this.#chunks), ...this.#head });
    } else {
      this.#onEnd({
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
