// Its web address, once there is one.
const PAGE = "docs/errors.md";

/** Adds where docs/errors.md says what to do. A message that repeats its cause's keeps that alone. */
function withPlace(code: string, message: string): string {
  if (message.includes(`${PAGE}#err_affiliate_`)) return message;
  return `${message}${message.includes("\n") ? "\n" : " "}(${PAGE}#${code.toLowerCase()})`;
}

/**
 * The base class of all errors that this package throws or rejects with. A message ends with the
 * place of its heading: `(docs/errors.md#err_affiliate_…)`.
 */
export class AffiliateError extends Error {
  /** The name of its class, such as `OptionsError`. */
  override readonly name: string = "AffiliateError";
  /** `ERR_AFFILIATE_…`: the same in all versions. docs/errors.md has a heading for each. */
  readonly code: string;

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(withPlace(code, message), options);
    this.code = code;
  }
}

/** Thrown at start-up by `affiliate()` and other factories. Its message lists all wrong options. */
export class OptionsError extends AffiliateError {
  override readonly name = "OptionsError";

  constructor(factory: string, problems: readonly string[]) {
    const list =
      problems.length === 1 ? ` ${problems[0]}` : problems.map((problem) => `\n  - ${problem}`).join("");
    super("ERR_AFFILIATE_OPTIONS", `${factory}:${list}`);
  }
}

/** An argument cannot be used, such as a session id of `..`. Nothing was sent or changed. */
export class ArgumentError extends AffiliateError {
  override readonly name = "ArgumentError";

  constructor(message: string) {
    super("ERR_AFFILIATE_ARGUMENT", message);
  }
}

/** The service refused, by its status or in its body. `message` begins with its own. */
export class TrackingApiError extends AffiliateError {
  override readonly name = "TrackingApiError";
  /** HTTP status of the answer. */
  readonly status: number;
  /** The service's short name for the error, such as `Unauthorized`; or the status as text. */
  readonly error: string;
  /** How long the service asks to wait, in milliseconds (its Retry-After). */
  readonly retryAfterMs: number | undefined;

  constructor(answer: { status: number; error: string; message: string; retryAfterMs?: number | undefined }) {
    super("ERR_AFFILIATE_API", answer.message);
    this.status = answer.status;
    this.error = answer.error;
    this.retryAfterMs = answer.retryAfterMs;
  }
}

/**
 * No answer came: the connection was refused or reset, the name is unknown, or the time was up.
 * `cause` is undici's or Node's error.
 */
export class NoAnswerError extends AffiliateError {
  override readonly name = "NoAnswerError";
  /** Whether the request was sent: the service may have acted on it. */
  readonly requestSent: boolean;

  constructor(message: string, requestSent: boolean, cause: Error) {
    super("ERR_AFFILIATE_NO_ANSWER", message, { cause });
    this.requestSent = requestSent;
  }
}

/** An outbox cannot do its work: open its file, take part in a transaction, read its table. */
export class OutboxError extends AffiliateError {
  override readonly name = "OutboxError";
}

/** JavaScript can throw any value. */
export function errorFrom(thrown: unknown): Error {
  if (thrown instanceof Error) return thrown;
  try {
    return new Error(String(thrown));
  } catch {
    return new Error("something that is neither an error nor text");
  }
}

/** An error's code, or its cause's; otherwise its name. */
export function errorCodeOf(error: Error): string {
  const { code, cause, name } = error as Error & { code?: unknown };
  if (typeof code === "string") return code;
  return cause instanceof Error ? errorCodeOf(cause) : name;
}
