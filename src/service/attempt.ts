import type { Dispatcher } from "undici";
import type { InLine } from "../shared/line.js";

const LONGEST_BODY = 64 * 1024;
// In this case undici ends the connection, and calls it a bad response.
const UNASKED_CONTINUE =
  "the service, or a proxy in front of it, sent `100 Continue` unasked: the answer behind it cannot be read";

/** The result of one attempt. An attempt never throws or rejects. */
export type Attempt = Answer | NoAnswer;

/** The head of a response arrived. */
export interface Answer {
  readonly type: "answer";
  readonly status: number;
  readonly retryAfter?: string | undefined;
  /** The service's own time: its Date header. */
  readonly date?: string | undefined;
  /** The body as JSON; `undefined` if what has arrived of it is none, or if it is longer than 64 KiB. */
  readonly body: unknown;
  /** The body had not ended when its time was up, or when the connection ended. */
  readonly isCut?: true;
}

/** No head of a response arrived. */
export interface NoAnswer {
  readonly type: "no-answer";
  /** Whether the request's head was handed to a connected socket. If so, the service may have received it. */
  readonly requestSent: boolean;
  readonly error: Error;
}

/** Why this process did not send a request, or gave it up: for a reason of its own, which says nothing about the service. */
export class HeldBack extends Error {
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

/** A request that cannot be made: a later attempt at the same event would fail in the same way. */
export class Unsendable extends Error {
  readonly code = "ERR_UNSENDABLE";
}

/** The attempt at a request that cannot be made. */
export function unsendable(cause: Error): NoAnswer {
  return { type: "no-answer", requestSent: false, error: new Unsendable(cause.message, { cause }) };
}

/** Undici's callbacks for one request. Calls `onEnd` exactly once, in whichever order undici calls them. */
export class AttemptHandler implements Dispatcher.DispatchHandler, InLine<AttemptHandler> {
  before: AttemptHandler | undefined;
  after: AttemptHandler | undefined;
  readonly #onEnd: (result: Attempt) => void;
  readonly #onHead: () => void;
  readonly #refusal: () => Error | undefined;
  #ended = false;
  #requestSent = false;
  #controller: Dispatcher.DispatchController | undefined;
  #stopped: Error | undefined;
  #head: Pick<Answer, "status" | "retryAfter" | "date"> | undefined;
  #chunks: Buffer[] = [];
  #length = 0;

  /**
   * @param options.onHead called when the head of the answer has arrived. Its body has not.
   * @param options.refusal called just before the request is sent: the reason why it must not be sent, or `undefined`.
   */
  constructor(options: {
    onEnd: (result: Attempt) => void;
    onHead: () => void;
    refusal: () => Error | undefined;
  }) {
    this.#onEnd = options.onEnd;
    this.#onHead = options.onHead;
    this.#refusal = options.refusal;
  }

  stop(reason: Error): void {
    this.#stopped = reason;
    // Still waiting for a connection: undici hands out the controller only when there is one.
    if (this.#controller) this.#controller.abort(reason);
    this.#finish(reason);
  }

  /** Called just before undici writes the request's head. It separates "never sent" from "perhaps taken". */
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
    this.#head = { status, retryAfter: firstOf(headers["retry-after"]), date: firstOf(headers.date) };
    this.#onHead();
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#length += chunk.length;
    if (this.#length > LONGEST_BODY) {
      this.#chunks = [];
      this.#finish(undefined);
      controller.abort(new Error(`the answer's body is longer than ${LONGEST_BODY} bytes`));
    } else {
      this.#chunks.push(chunk);
    }
  }

  onResponseEnd(): void {
    this.#finish(undefined);
  }

  onResponseError(_controller: unknown, error: Error & { data?: unknown }): void {
    // Undici's parser error quotes what came instead of HTTP. That may contain anything, even this client's key.
    delete error.data;
    if (error.message === "bad response") error.message = UNASKED_CONTINUE;
    this.#finish(error);
  }

  #finish(error: Error | undefined): void {
    if (this.#ended) return;
    this.#ended = true;
    if (this.#head) {
      const cut = error && { isCut: true as const };
      this.#onEnd({ type: "answer", body: jsonOf(this.#chunks), ...cut, ...this.#head });
    } else {
      this.#onEnd({
        type: "no-answer",
        requestSent: this.#requestSent,
        error: error ?? new Error("the connection ended before an answer"),
      });
    }
  }
}

function firstOf(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header[0] : header;
}

function jsonOf(chunks: readonly Buffer[]): unknown {
  try {
    return JSON.parse(chunks.length === 1 ? String(chunks[0]) : Buffer.concat(chunks).toString());
  } catch {
    return undefined;
  }
}
