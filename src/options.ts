import type { Request } from "express";
import type { AmbiguousPolicy } from "./delivery/delivery.js";
import type { EventKind } from "./events.js";
import type { Logger } from "./journal.js";
import type { Outbox } from "./outbox/outbox.js";

/** What `affiliate()` takes. What is read from the environment may be `undefined`: that is an error at start-up, not a type error. */
export interface AffiliateOptions {
  /**
   * The service's address: what comes before `/api/v1/`. `https:`, or plain `http:` to this machine alone. No credentials,
   * no query.
   */
  readonly baseUrl: string | URL | undefined;
  /** The program owner (specification, section 2.1): a positive integer. */
  readonly clientId: number | undefined;
  /** Sent as `Authorization: Bearer` to `baseUrl` and nowhere else (section 5); never shown. Default: none. */
  readonly apiKey?: string | undefined;
  /** Allows plain `http:` to another machine. Default `false`. */
  readonly allowInsecure?: boolean | undefined;
  /** The cookie in which the browser snippet keeps the click id. Default `svc_click_id`. */
  readonly cookieName?: string | undefined;
  /**
   * Where the session id is: a cookie's name, or a function of the request that returns it. One that throws, or returns
   * what cannot be an id, counts as none. Default: the `svc_session_id` cookie, else a SHA-256 digest of the
   * express-session that the request brought.
   */
  readonly session?: string | ((req: Request) => string | undefined) | undefined;
  /**
   * Whether the visitor has agreed. Asked once a request, when its attribution is first needed; where it is not `true`, or
   * throws, nothing is read, set or sent for this request. Default: always.
   */
  readonly consent?: ((req: Request) => boolean) | undefined;
  /** Where events wait. Default `memoryOutbox()`. */
  readonly outbox?: Outbox | undefined;
  readonly delivery?: DeliverySettings | undefined;
  /** Any of console, pino, winston. Default: the console; in production warnings and errors only. */
  readonly logger?: Logger | undefined;
  /** `false`: everything is in place and nothing is sent, as tests and previews want it. Default `true`. */
  readonly enabled?: boolean | undefined;
  /**
   * Called once for a request that has something to report, with a promise that resolves when it is delivered or safe:
   * for hosts that freeze a process after the response. Default: none.
   */
  readonly waitUntil?: ((promise: Promise<void>, req: Request) => void) | undefined;
  /**
   * The outgoing proxy: its address (`http:` or `https:`, with credentials where it wants them), or `"environment"` for what
   * HTTPS_PROXY and NO_PROXY say. It tunnels, and sees the service's host name alone. Default: none, as in Node.
   */
  readonly proxy?: string | URL | undefined;
  /**
   * Whose referral the service confirms, at its status endpoint (§4.5), before an event is sent: of visitors that are known by
   * a login session alone, as everybody is who has logged in where express-session is mounted (`"login-session"`); of everybody
   * with a session id (`"always"`); or of nobody (`"never"`). Whom no affiliate referred is skipped, as `not-referred`, and
   * their address stays with the host. Default `"login-session"`.
   */
  readonly confirmReferral?: "login-session" | "always" | "never" | undefined;
  /**
   * A secret, or several: `onClick` signs its cookies with the first, and only what one of them has signed is read. For sites
   * without the service's browser snippet, which cannot sign. Default: none; whatever the cookies hold is taken.
   */
  readonly signed?: string | readonly string[] | undefined;
}

/** How events are delivered. */
export interface DeliverySettings {
  /** How many attempts are under way at once, over as many sockets. 1 to 256; default 8. */
  readonly concurrency?: number | undefined;
  /** How long connecting may take, in milliseconds. Default 3,000. */
  readonly connectTimeoutMs?: number | undefined;
  /** How long a whole attempt may take, in milliseconds. Default 10,000. */
  readonly timeoutMs?: number | undefined;
  /** An event that waits longer than this many milliseconds becomes a dead letter. Default 72 hours. */
  readonly maxAgeMs?: number | undefined;
  /** What to do with an event that the service may have taken. Default: `retry`, but `hold` for payments. */
  readonly ambiguous?: { readonly [Kind in EventKind]?: AmbiguousPolicy | undefined } | undefined;
}
