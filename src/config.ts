import type { Request } from "express";
import * as z from "zod/mini";
import { type AmbiguousPolicy, byKind, IF_MAYBE_TAKEN } from "./conversion/kinds.js";
import type { Logger } from "./journal/log.js";
import type { AffiliateOptions, DeliverySettings } from "./options.js";
import { memoryOutbox } from "./outbox/memory/memory-outbox.js";
import type { Outbox } from "./outbox/outbox.js";
import { isLoopback, isProxyAddress, type OutgoingProxy } from "./service/dispatcher.js";
import { LONGEST_TIMER_MS } from "./shared/clock.js";
import { readOptions, type SchemaOf } from "./shared/read-options.js";
import { Secret } from "./shared/secret.js";
import { createSignatures, type Signatures } from "./shared/signatures.js";

const HOUR_MS = 60 * 60 * 1_000;

const aFunction = <F>() => z.custom<F>((value) => typeof value === "function", "must be a function");
const positive = (what: string) => {
  const error = `must be a positive ${what}`;
  return z.int(error).check(z.minimum(1, error));
};
const milliseconds = (usual: number, most = LONGEST_TIMER_MS) =>
  z._default(positive("number of milliseconds").check(z.maximum(most, `must be at most ${most}`)), usual);
const flag = (usual: boolean) => z._default(z.boolean("must be true or false"), usual);
const policy = (usual: AmbiguousPolicy) =>
  z._default(z.enum(["retry", "hold"], 'must be "retry" or "hold"'), usual);

// RFC 6265, section 4.1.1.
const aCookie = "must be a cookie's name";
const cookieName = z.string(aCookie).check(z.regex(/^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,128}$/, aCookie));

const hasMethods = (value: unknown, names: readonly string[]) =>
  names.every((name) => typeof Object(value)[name] === "function");

const delivery = z.strictObject(
  {
    concurrency: z._default(positive("integer").check(z.maximum(256, "must be at most 256")), 8),
    connectTimeoutMs: milliseconds(3_000),
    timeoutMs: milliseconds(10_000),
    maxAgeMs: milliseconds(72 * HOUR_MS, Number.MAX_SAFE_INTEGER),
    ambiguous: z.prefault(
      z.strictObject(
        byKind((kind) => policy(IF_MAYBE_TAKEN[kind])),
        "must be an object",
      ),
      {},
    ),
  } satisfies SchemaOf<DeliverySettings>,
  "must be an object",
);

const address = (error: string) => z.union([z.string(), z.instanceof(URL)], error);
const A_PROXY = 'must be a proxy\'s address, such as http://proxy.example:3128, or "environment"';
const ALONE =
  "must be one that another process delivers from, such as postgresOutbox, if `delivery` is false";
const A_KEY = "must be the key and nothing else: printable ASCII without spaces, not empty";
const A_BASE_URL = "must be the service's address, such as https://tracking.example";

/** Its messages do not repeat the address, which may contain a password. */
const schemaFor = ({ allowInsecure, delivers }: { allowInsecure: boolean; delivers: boolean }) =>
  z.strictObject({
    baseUrl: address(A_BASE_URL).check(
      z.refine((address) => problemWith(address, allowInsecure) === undefined, {
        error: ({ input }) => problemWith(input as string | URL, allowInsecure),
      }),
    ),
    clientId: positive("integer"),
    apiKey: z.optional(z.string("must be a string").check(z.regex(/^[\x21-\x7e]+$/, A_KEY))),
    allowInsecure: flag(false),
    cookieName: z._default(cookieName, "svc_click_id"),
    cookiePrefix: z.optional(z.literal("__Host-", 'must be "__Host-"')),
    session: z.optional(
      z.union(
        [cookieName, aFunction<(req: Request) => string | undefined>()],
        "must be a cookie's name or a function of the request",
      ),
    ),
    consent: z.optional(aFunction<NonNullable<AffiliateOptions["consent"]>>()),
    isBot: z.optional(aFunction<(req: Request) => boolean>()),
    outbox: z.optional(
      z
        .custom<Outbox>(
          (value) => hasMethods(value, ["add", "start", "wake", "counts", "close"]),
          "must be an outbox, such as memoryOutbox()",
        )
        .check(z.refine(({ name }) => delivers || name !== "memory", ALONE)),
    ),
    delivery: z.prefault(delivery, {}),
    logger: z.optional(
      z.custom<Logger>(
        (value) => hasMethods(value, ["warn", "error"]) || hasMethods(value, ["warning", "error"]),
        "must have the methods `warn` (or `warning`) and `error`, as console, pino and winston do",
      ),
    ),
    enabled: flag(true),
    waitUntil: z.optional(aFunction<(promise: Promise<void>, req: Request) => void>()),
    proxy: z.optional(address(A_PROXY).check(z.refine(isProxy, A_PROXY))),
    confirmReferral: z._default(
      z.enum(["login-session", "always", "never"], 'must be "login-session", "always" or "never"'),
      "login-session",
    ),
    signed: z.optional(
      z.custom<string | readonly string[]>(
        areSecrets,
        "must be a secret of at least 16 bytes, or a list of them, newest first",
      ),
    ),
  } satisfies SchemaOf<AffiliateOptions & { readonly delivery?: DeliverySettings | undefined }>);

type Read = z.output<ReturnType<typeof schemaFor>>;

/** The options of `affiliate()`, checked, with defaults, secrets wrapped. */
export type Config = Readonly<
  Omit<Read, "baseUrl" | "apiKey" | "outbox" | "logger" | "proxy" | "signed"> & {
    baseUrl: URL;
    proxy: OutgoingProxy | undefined;
    signed: Signatures | undefined;
    /** The session id's cookie; `undefined` if the host's own function gives the id. */
    sessionCookie: string | undefined;
    /** Whether this process delivers what it reports. */
    delivers: boolean;
    apiKey: Secret | undefined;
    outbox: Outbox;
    logger: Logger;
  }
>;

/** Instead of the host's, which a build lacks. It opens nothing. */
const OF_A_DISABLED_TRACKER = {
  baseUrl: "https://disabled.invalid",
  clientId: 1,
  apiKey: undefined,
  proxy: undefined,
  outbox: undefined,
  delivery: undefined,
} as const satisfies Partial<AffiliateOptions>;

/** @throws OptionsError that lists everything that is wrong with the options. */
export function readConfig(given: AffiliateOptions): Config {
  const isDisabled = Object(given).enabled === false;
  // A secret that is there is used: a signed cookie would be read as an id with its signature.
  const signed = areSecrets(given?.signed) ? given.signed : undefined;
  const options = isDisabled ? { ...given, ...OF_A_DISABLED_TRACKER, signed } : given;
  const { allowInsecure, delivery, outbox } = Object(options);
  const delivers = delivery !== false;
  const read = readOptions(
    "affiliate",
    schemaFor({ allowInsecure: allowInsecure === true, delivers }),
    delivers ? options : { ...options, delivery: undefined, outbox: outbox ?? memoryOutbox() },
  );
  const { cookiePrefix = "", session = "svc_session_id" } = read;
  return Object.freeze({
    ...read,
    delivers,
    cookieName: `${cookiePrefix}${read.cookieName}`,
    sessionCookie: typeof session === "function" ? undefined : `${cookiePrefix}${session}`,
    baseUrl: new URL(read.baseUrl),
    apiKey: read.apiKey === undefined ? undefined : new Secret(read.apiKey),
    outbox: read.outbox ?? memoryOutbox(),
    logger: read.logger ?? toConsole,
    signed: read.signed
      ? createSignatures([read.signed].flat().map((secret) => new Secret(secret)))
      : undefined,
    proxy: read.proxy === undefined || read.proxy === "environment" ? read.proxy : new URL(read.proxy),
  });
}

const toConsole: Logger = {
  info: (line) => process.env.NODE_ENV !== "production" && console.info(line),
  warn: (line) => print("warn", line),
  error: (line) => print("error", line),
};

/** Jest fails a run that uses its console after a test file, as a forgotten tracker may. */
function print(level: "warn" | "error", line: string): void {
  if (process.env.JEST_WORKER_ID === undefined) console[level](line);
  else process.stderr.write(`${line}\n`);
}

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
  return "must begin with https:, or the key and customers' addresses are sent unencrypted (`allowInsecure: true` allows it)";
}

function areSecrets(value: unknown): boolean {
  const secrets = [value].flat();
  const isLong = (secret: unknown) => typeof secret === "string" && Buffer.byteLength(secret) >= 16;
  return secrets.length > 0 && secrets.every(isLong);
}

function isProxy(address: string | URL): boolean {
  return address === "environment" || isProxyAddress(String(address));
}
