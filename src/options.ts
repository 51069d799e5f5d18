import type { Request } from "express";
import { z } from "zod";
import type { AmbiguousPolicy } from "./delivery/delivery.js";
import type { EventKind } from "./events.js";
import type { Logger } from "./journal.js";
import { memoryOutbox } from "./outbox/memory/memory-outbox.js";
import type { Outbox } from "./outbox/outbox.js";
import { createSignatures, type Signatures } from "./request/signatures.js";
import type { OutgoingProxy } from "./service/dispatcher.js";
import { readOptions, type SchemaOf } from "./shared/read-options.js";
import { Secret } from "./shared/secret.js";

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

const HOUR_MS = 60 * 60 * 1_000;

const aFunction = <F>() =>
  z.custom<F>((value) => typeof value === "function", { error: "must be a function" });
const positiveInteger = { error: "must be a positive integer" };
const milliseconds = z
  .int({ error: "must be a positive number of milliseconds" })
  .min(1, { error: "must be a positive number of milliseconds" });
const flag = z.boolean({ error: "must be true or false" });
const policy = z.enum(["retry", "hold"], { error: 'must be "retry" or "hold"' });
const anObject = { error: "must be an object" };

// RFC 6265, section 4.1.1: a cookie's name is a token.
const cookieName = z
  .string({ error: "must be a cookie's name" })
  .regex(/^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,128}$/, { error: "must be a cookie's name" });

const hasMethods = (value: unknown, names: readonly string[]) =>
  names.every((name) => typeof Object(value)[name] === "function");

const delivery = z.strictObject(
  {
    concurrency: z
      .int(positiveInteger)
      .min(1, positiveInteger)
      .max(256, { error: "must be at most 256" })
      .default(8),
    connectTimeoutMs: milliseconds.default(3_000),
    timeoutMs: milliseconds.default(10_000),
    maxAgeMs: milliseconds.default(72 * HOUR_MS),
    ambiguous: z
      .strictObject(
        {
          click: policy.default("retry"),
          registration: policy.default("retry"),
          payment: policy.default("hold"),
        },
        anObject,
      )
      .prefault({}),
  } satisfies SchemaOf<DeliverySettings>,
  anObject,
);

const A_PROXY = 'must be a proxy\'s address, such as http://proxy.example:3128, or "environment"';
const A_BASE_URL = "must be the service's address, such as https://tracking.example";

const schema = z.strictObject({
  baseUrl: z.union([z.string(), z.instanceof(URL)], { error: A_BASE_URL }),
  clientId: z.int(positiveInteger).min(1, positiveInteger),
  apiKey: z
    .string({ error: "must be a string" })
    .regex(/^[\x21-\x7e]+$/, {
      error: "must be the key and nothing else: printable ASCII without spaces, not empty",
    })
    .optional(),
  allowInsecure: flag.default(false),
  cookieName: cookieName.default("svc_click_id"),
  session: z
    .union([cookieName, aFunction<(req: Request) => string | undefined>()], {
      error: "must be a cookie's name or a function of the request",
    })
    .optional(),
  consent: aFunction<(req: Request) => boolean>().default(() => () => true),
  outbox: z
    .custom<Outbox>((value) => hasMethods(value, ["add", "start", "wake", "counts", "close"]), {
      error: "must be an outbox, such as memoryOutbox()",
    })
    .optional(),
  delivery: delivery.prefault({}),
  logger: z
    .custom<Logger>((value) => hasMethods(value, ["warn", "error"]), {
      error: "must have the methods `warn` and `error`, as console, pino and winston do",
    })
    .optional(),
  enabled: flag.default(true),
  waitUntil: aFunction<(promise: Promise<void>, req: Request) => void>().optional(),
  proxy: z
    .union([z.string(), z.instanceof(URL)], { error: A_PROXY })
    .refine(isProxy, { error: A_PROXY })
    .optional(),
  confirmReferral: z
    .enum(["login-session", "always", "never"], { error: 'must be "login-session", "always" or "never"' })
    .default("login-session"),
  signed: z
    .custom<string | readonly string[]>(areSecrets, {
      error: "must be a secret, or a list of them, newest first",
    })
    .optional(),
} satisfies SchemaOf<AffiliateOptions>);

export type Config = Readonly<
  Omit<z.output<typeof schema>, "baseUrl" | "apiKey" | "outbox" | "logger" | "proxy" | "signed"> & {
    baseUrl: URL;
    proxy: OutgoingProxy | undefined;
    signed: Signatures | undefined;
    apiKey: Secret | undefined;
    outbox: Outbox;
    logger: Logger;
  }
>;

/** @throws OptionsError that lists everything that is wrong with the options. */
export function readConfig(options: AffiliateOptions): Config {
  const allowInsecure = Object(options).allowInsecure === true;
  // Checked in its field, where it is found out beside whatever else is wrong.
  const baseUrl = schema.shape.baseUrl.check(({ value, issues }) => {
    const problem = problemWith(value, allowInsecure);
    if (problem) issues.push({ code: "custom", input: value, message: problem });
  });
  const read = readOptions("affiliate", schema.extend({ baseUrl }), options);
  return Object.freeze({
    ...read,
    baseUrl: new URL(read.baseUrl),
    apiKey: read.apiKey === undefined ? undefined : new Secret(read.apiKey),
    outbox: read.outbox ?? memoryOutbox(),
    logger: read.logger ?? toConsole,
    signed: read.signed ? createSignatures([read.signed].flat().map((each) => new Secret(each))) : undefined,
    proxy: read.proxy === undefined || read.proxy === "environment" ? read.proxy : new URL(read.proxy),
  });
}

const toConsole: Logger = {
  info: (line) => process.env.NODE_ENV !== "production" && console.info(line),
  warn: (line) => console.warn(line),
  error: (line) => console.error(line),
};

// None of these quotes the address: it may hold a password.
function problemWith(address: string | URL, allowInsecure: boolean): string | undefined {
  if (!URL.canParse(String(address))) return A_BASE_URL;
  const { protocol, hostname, pathname, username, password, search, hash } = new URL(address);
  if (username || password) return "must not hold credentials: the key goes into `apiKey`";
  if (search || hash) return "must end with its path: no query, no fragment";
  if (/\/api\/v1(\/tracking)?\/*$/.test(pathname))
    return "must end before /api/v1: each call adds that itself";
  if (protocol === "https:") return undefined;
  if (protocol !== "http:") return "must begin with https:";
  if (allowInsecure || isLoopback(hostname)) return undefined;
  return "must begin with https:, or the key and customers' addresses would travel in the open (`allowInsecure: true` allows it)";
}

function areSecrets(value: unknown): boolean {
  const secrets = [value].flat();
  return secrets.length > 0 && secrets.every((secret) => typeof secret === "string" && secret !== "");
}

function isProxy(address: string | URL): boolean {
  if (address === "environment") return true;
  return URL.canParse(String(address)) && /^https?:$/.test(new URL(address).protocol);
}

function isLoopback(hostname: string): boolean {
  return (
    hostname === "localhost" ||
    hostname.endsWith(".localhost") ||
    hostname === "[::1]" ||
    /^127(\.\d+){3}$/.test(hostname)
  );
}
