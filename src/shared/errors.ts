/**
 * The one base class of every error that this package throws or rejects with. `code` never changes between
 * versions and has a heading in docs/errors.md.
 */
export class AffiliateError extends Error {
  override readonly name: string = "AffiliateError";
  readonly code: string;

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** Thrown by `affiliate()` and the outboxes' factories at start-up. Lists every wrong option at once. */
export class OptionsError extends AffiliateError {
  override readonly name = "OptionsError";

  constructor(factory: string, problems: readonly string[]) {
    const list = problems.length === 1 ? ` ${problems[0]}` : problems.map((each) => `\n  - ${each}`).join("");
    super("ERR_AFFILIATE_OPTIONS", `${factory}:${list}`);
  }
}

/** An argument that cannot be sent as it is, such as a session id of `..`. Nothing left the process. */
export class ArgumentError extends AffiliateError {
  override readonly name = "ArgumentError";

  constructor(message: string) {
    super("ERR_AFFILIATE_ARGUMENT", message);
  }
}

/** The service answered, and the answer is no: the error body of §7, or `success: false`. */
export class TrackingApiError extends AffiliateError {
  override readonly name = "TrackingApiError";
  /** HTTP status of the answer. */
  readonly status: number;
  /** The service's short name for the error, such as `Unauthorized`; the status' digits where it gave none. */
  readonly error: string;
  /** How long the service asked to be left alone, in milliseconds (its Retry-After). */
  readonly retryAfterMs: number | undefined;

  constructor(answer: { status: number; error: string; message: string; retryAfterMs?: number | undefined }) {
    super("ERR_AFFILIATE_API", answer.message);
    this.status = answer.status;
    this.error = answer.error;
    this.retryAfterMs = answer.retryAfterMs;
  }
}

/** No answer came: refused, unresolved, reset, timed out. `cause` is what undici or Node said. */
export class NoAnswerError extends AffiliateError {
  override readonly name = "NoAnswerError";
  /** Whether the request's head had left: then the service may have acted on it all the same. */
  readonly requestSent: boolean;

  constructor(message: string, requestSent: boolean, cause: Error) {
    super("ERR_AFFILIATE_NO_ANSWER", message, { cause });
    this.requestSent = requestSent;
  }
}

/** An outbox cannot do what was asked of it: open its file, take part in a transaction, read its table. */
export class OutboxError extends AffiliateError {
  override readonly name = "OutboxError";
}

/** What was thrown, as an Error: JavaScript lets anything be thrown. */
export function errorFrom(thrown: unknown): Error {
  if (thrown instanceof Error) return thrown;
  try {
    return new Error(String(thrown));
  } catch {
    return new Error("something that is neither an error nor text");
  }
}

/** The code of an error or of what caused it; its name where there is none. */
export function errorCodeOf(error: Error): string {
  const { code, cause, name } = error as Error & { code?: unknown };
  if (typeof code === "string") return code;
  return cause instanceof Error ? errorCodeOf(cause) : name;
}
