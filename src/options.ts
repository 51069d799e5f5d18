import type { Request } from "express";
import type { EventKind } from "./conversion/events.js";
import type { AmbiguousPolicy } from "./conversion/kinds.js";
import type { Logger } from "./journal/log.js";
import type { Outbox } from "./outbox/outbox.js";

/**
 * What `affiliate()` takes. Without `baseUrl` and `clientId`, as if an environment variable is
 * missing, it throws, unless `enabled` is `false`.
 */
export interface AffiliateOptions {
  /**
   * The service's address: what comes before `/api/v1/`. `https:`, or plain `http:` to this machine
   * alone. No credentials, no query.
   */
  readonly baseUrl?: string | URL | undefined;
  /** The program owner (§2.1): a positive integer. */
  readonly clientId?: number | undefined;
  /** Sent as `Authorization: Bearer` to `baseUrl` alone (§5); never shown. Default: none. */
  readonly apiKey?: string | undefined;
  /** Allows plain `http:` to another machine. Default `false`. */
  readonly allowInsecure?: boolean | undefined;
  /** The cookie in which the browser snippet keeps the click id. Default `svc_click_id`. */
  readonly cookieName?: string | undefined;
  /**
   * `"__Host-"`: both cookies of `onClick` have this prefix (`__Host-svc_click_id`), so that
   * browsers take them from this host alone, over https, and no subdomain can set one. Not for
   * sites with the service's browser snippet, whose cookie has no prefix. Default: none.
   */
  readonly cookiePrefix?: "__Host-" | undefined;
  /**
   * How a request's session id is found: the name of a cookie, which `onClick` sets with each click
   * unless your app has set it; or a function of the request that returns the id (1 to 256
   * printable ASCII characters without spaces) or `undefined`. If it throws, or returns what cannot
   * be an id, there is none. Default: the `svc_session_id` cookie, otherwise a SHA-256 digest of the
   * express-session that the request brought.
   */
  readonly session?: string | ((req: Request) => string | undefined) | undefined;
  /**
   * Whether the visitor has agreed: `true`, not a promise. Called once for a request, when its
   * attribution is first needed, with the request's cookies: parsed, whether or not cookie-parser
   * is mounted. If it throws or returns anything else, nothing is read, set or sent for this
   * request. Default: `() => true`.
   *
   * @example
   * ```js
   * affiliate({ ...options, consent: (req, cookies) => cookies.consent === "all" });
   * ```
   */
  readonly consent?: ((req: Request, cookies: Request["cookies"]) => boolean) | undefined;
  /**
   * Whether a bot asks, whose visits are no clicks: `true` or `false`, not a promise. If it throws
   * or returns anything else, the default decides: what isbot says of the User-Agent.
   *
   * @example
   * ```js
   * import { isbot } from "isbot";
   *
   * const isInApp = (req) => /Instagram/.test(req.get("user-agent"));
   * affiliate({ ...options, isBot: (req) => !isInApp(req) && isbot(req.get("user-agent")) });
   * ```
   */
  readonly isBot?: ((req: Request) => boolean) | undefined;
  /** Where events wait. Default `memoryOutbox()`. */
  readonly outbox?: Outbox | undefined;
  /**
   * How this process delivers. `false`: it only reports, and another process delivers. That needs
   * an outbox that several processes share, such as `postgresOutbox`.
   */
  readonly delivery?: DeliverySettings | false | undefined;
  /** Console, pino, winston or the like. Default: the console; in production from `warn` on. */
  readonly logger?: Logger | undefined;
  /**
   * `false`: all functions work, and nothing is opened, stored or sent: reports are skipped as
   * `disabled`, `client` rejects. For tests, previews and builds. Default `true`.
   *
   * @example
   * ```js
   * affiliate({ ...options, enabled: Boolean(process.env.TRACKING_URL) });
   * ```
   */
  readonly enabled?: boolean | undefined;
  /**
   * For hosts that freeze a process after the response. Called once for a request that reports
   * something, with a promise that resolves when all its events are delivered or given up. With a
   * durable outbox: when they are stored and their first attempts, if any are due, have ended, at
   * the latest after `delivery.timeoutMs`; with `delivery: false`, when they are stored. Default:
   * none.
   */
  readonly waitUntil?: ((promise: Promise<void>, req: Request) => void) | undefined;
  /**
   * The outgoing proxy: its address (`http:` or `https:`, with credentials if needed), or
   * `"environment"` for HTTPS_PROXY and NO_PROXY. It opens a tunnel, and sees only the service's
   * host name. Default: none.
   */
  readonly proxy?: string | URL | undefined;
  /**
   * For which visitors the status endpoint (§4.5) must confirm a referral before an event is sent.
   * `"login-session"`, the default: those known only by a login session, as every logged-in visitor
   * is if express-session is mounted. `"always"`: all with a session id. `"never"`: none. Without a
   * referral, the event is skipped as `not-referred`.
   */
  readonly confirmReferral?: "login-session" | "always" | "never" | undefined;
  /**
   * A secret of at least 16 bytes, or several. `onClick` signs its cookies with the first, and only cookies that one of
   * them signed are read. Not for sites with the service's browser snippet, which cannot sign.
   * Default: none; all cookies are read.
   */
  readonly signed?: string | readonly string[] | undefined;
}

/** How events are delivered. @inline */
export interface DeliverySettings {
  /** How many attempts are under way at once, each over its own socket. 1 to 256; default 8. */
  readonly concurrency?: number | undefined;
  /** How long connecting may take, in milliseconds. Default 3,000. */
  readonly connectTimeoutMs?: number | undefined;
  /** How long a whole attempt may take, in milliseconds. Default 10,000. */
  readonly timeoutMs?: number | undefined;
  /**
   * An event that still fails after so many milliseconds becomes a dead letter, if the service
   * takes other events meanwhile. Default 259,200,000 (72 hours).
   */
  readonly maxAgeMs?: number | undefined;
  /**
   * What to do with an event that the service may have taken: `retry`, or `hold` it as a dead
   * letter. Default: `retry`, for payments `hold`.
   */
  readonly ambiguous?: { readonly [Kind in EventKind]?: AmbiguousPolicy | undefined } | undefined;
}
