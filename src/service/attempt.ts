import type { Dispatcher } from "undici";
import { errorCodeOf } from "../shared/errors.js";
import type { ListLinks } from "../shared/linked-list.js";
import { errorStatusOf, LONGEST_BODY, readBody } from "./body.js";

// Undici ends such a connection with this code, and calls it a bad response.
const UNASKED_CONTINUE =
  "the service, or a proxy in front of it, sent `100 Continue` unasked: the answer behind it cannot be read";

/** The result of one attempt. An attempt never throws or rejects. */
export type Attempt = Answer | NoAnswer;

export interface Answer {
  readonly type: "answer";
  /** If a 2xx has an error body (§7), the status that this names. */
  readonly status: number;
  readonly retryAfter?: string | undefined;
  /** The service's own time: its Date header. */
  readonly date?: string | undefined;
  /** `undefined` if there is none, or what arrived is no JSON, or is longer than 64 KiB. */
  readonly body: unknown;
  /** The whole body arrived, and is no JSON. */
  readonly isUnreadable?: true;
}

interface NoAnswer {
  readonly type: "no-answer";
  /** Whether a connected socket got the request's head: the service may have received it. */
  readonly requestSent: boolean;
  readonly error: Error;
}

/** This process held a request back for a reason of its own, which is not the service's. */
export class HeldBack extends Error {
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

/** A page of HTML with a 2xx: a login page, a firewall's, or that of another site. */
export class PageInstead extends Error {
  readonly code = "ERR_PAGE";

  constructor(status: number) {
    super(`a page of HTML came with status ${status}: it is not the tracking service's`);
  }
}

class Unsendable extends Error {
  readonly code = "ERR_UNSENDABLE";
}

// Undici refuses to send these, and would refuse the same request again.
const UNSENDABLE = new Set([
  "UND_ERR_INVALID_ARG",
  "UND_ERR_NOT_SUPPORTED",
  "UND_ERR_REQ_CONTENT_LENGTH_MISMATCH",
]);

/** Whether the request cannot be made, now or later. */
export function isUnsendable({ requestSent, error }: NoAnswer): boolean {
  return !requestSent && (error instanceof Unsendable || UNSENDABLE.has(errorCodeOf(error)));
}

export function unsendable(cause: Error): NoAnswer {
  return { type: "no-answer", requestSent: false, error: new Unsendable(cause.message, { cause }) };
}

interface HandlerOptions {
  onEnd(result: Attempt): void;
  onHead(): void;
  /** Called just before the request is sent: why it must not be. */
  refusal(): Error | undefined;
}

/** Undici's callbacks for one request. Calls `onEnd` once, in whatever order they come. */
export class AttemptHandler implements Dispatcher.DispatchHandler, ListLinks<AttemptHandler> {
  before: AttemptHandler | undefined;
  after: AttemptHandler | undefined;
  readonly #options: HandlerOptions;
  #ended = false;
  #requestSent = false;
  #controller: Dispatcher.DispatchController | undefined;
  #stopped: Error | undefined;
  #head: Pick<Answer, "status" | "retryAfter" | "date"> | undefined;
  #contentType = "";
  #encodings = "";
  #chunks: Buffer[] = [];
  #length = 0;

  constructor(options: HandlerOptions) {
    this.#options = options;
  }

  stop(reason: Error): void {
    this.#stopped = reason;
    // Undici gives the controller only when there is a connection.
    this.#controller?.abort(reason);
    this.#finish(reason);
  }

  /** Called just before undici writes the head: between "never sent" and "perhaps taken". */
  onRequestStart(controller: Dispatcher.DispatchController): void {
    const refusal = this.#stopped ?? this.#options.refusal();
    this.#controller = controller;
    if (refusal) this.stop(refusal);
    else this.#requestSent = true;
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    if (status < 200) return;
    this.#head = { status, retryAfter: firstOf(headers["retry-after"]), date: firstOf(headers.date) };
    this.#contentType = firstOf(headers["content-type"]) ?? "";
    this.#encodings = [headers["content-encoding"]].flat().join();
    this.#options.onHead();
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#length += chunk.length;
    this.#chunks.push(chunk);
    if (this.#length <= LONGEST_BODY) return;
    this.#finish(undefined);
    controller.abort(new Error(`the answer's body is longer than ${LONGEST_BODY} bytes`));
  }

  onResponseEnd(): void {
    this.#finish(undefined);
  }

  onResponseError(_controller: unknown, error: Error & { data?: unknown }): void {
    // The parser's error quotes what came instead of HTTP, perhaps even this client's key.
    delete error.data;
    if (error.message === "bad response") error.message = UNASKED_CONTINUE;
    this.#finish(error);
  }

  #finish(error: Error | undefined): void {
    if (this.#ended) return;
    this.#ended = true;
    const { onEnd } = this.#options;
    const requestSent = this.#requestSent && !isOfConnecting(error);
    if (!this.#head) {
      const noAnswer = error ?? new Error("the connection ended before an answer");
      onEnd({ type: "no-answer", requestSent, error: noAnswer });
      return;
    }
    const { status } = this.#head;
    const bytes = Buffer.concat(this.#chunks).subarray(0, LONGEST_BODY);
    const { json: body, isPage } = readBody(bytes, this.#contentType, this.#encodings);
    if (status >= 300) {
      onEnd({ type: "answer", body, ...this.#head });
    } else if (isPage) {
      onEnd({ type: "no-answer", requestSent, error: new PageInstead(status) });
    } else {
      const isWhole = !error && this.#length <= LONGEST_BODY;
      const isUnreadable = isWhole && body === undefined && this.#length > 0;
      const said = { ...this.#head, ...(isUnreadable && { isUnreadable }) };
      onEnd({ type: "answer", body, ...said, status: errorStatusOf(body) ?? status });
    }
  }
}

/**
 * Whether the error is of the connection itself. A library that replaces Node's sockets may have
 * shown undici a connection before there was one.
 */
function isOfConnecting(error: (Error & { syscall?: unknown }) | undefined): boolean {
  if (error instanceof AggregateError) return error.errors.every(isOfConnecting);
  return error?.syscall === "connect" || error?.syscall === "getaddrinfo";
}

function firstOf(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header[0] : header;
}
