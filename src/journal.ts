import { EventEmitter } from "node:events";
import type { PauseReason } from "./delivery/endpoint-health.js";
import { type EventKind, emailOf, type OutboxEvent } from "./events.js";
import type { Death, DeathReason } from "./outbox/outbox.js";
import type { Endpoint } from "./service/endpoints.js";
import type { Clock } from "./shared/clock.js";
import { harmless } from "./shared/harmless.js";
import { printable } from "./shared/printable.js";
import { maskEmail, maskEmails } from "./shared/secret.js";

/** Any of console, pino, winston. Each line is one string. */
export interface Logger {
  /** What was skipped. */
  debug?(line: string): unknown;
  /** What has become well again; and outside production, once each, why something is not reported. */
  info?(line: string): unknown;
  /** What somebody should know, or do something about. */
  warn(line: string): unknown;
  /** What the package itself could not do. */
  error(line: string): unknown;
}

/** Why something that was reported is none of the service's business. */
export type SkipReason =
  | "no-attribution"
  | "not-referred"
  | "consent"
  | "disabled"
  | "prefetch"
  | "bot"
  | "not-a-page"
  | "zero";

/** Why something that should have been reported was lost. */
export type DropReason =
  | "invalid"
  | "full"
  | "visitor-full"
  | "dead-letters-full"
  | "outbox"
  | "closed"
  | "pick";

/** What is paused: the whole service, or one of its endpoints. */
export type PauseScope = "origin" | Endpoint;

/** How an endpoint is. While it is paused, trials are sent and nothing else. */
export type EndpointState =
  | { readonly state: "open" }
  | {
      readonly state: "paused";
      readonly reason: PauseReason;
      /** For how long it has been so, in milliseconds. */
      readonly pausedMs: number;
    };

/** What every notice about an event says: never the API key, and no address in full. */
export interface EventNotice {
  readonly id: string;
  readonly kind: EventKind;
  readonly clickId?: string;
  readonly sessionId?: string;
  /** The customer's address, masked: `a***@shop.example`. */
  readonly email?: string;
}

/** What listeners are told, by name. */
export interface Notices {
  queued: EventNotice;
  delivered: EventNotice & { readonly attempts: number };
  /** An attempt failed; the next one comes in `inMs`. */
  retry: EventNotice & { readonly attempts: number; readonly inMs: number; readonly because: string };
  dead: EventNotice & Death;
  dropped: Partial<EventNotice> & {
    readonly kind: EventKind;
    readonly reason: DropReason;
    readonly message?: string;
  };
  skipped: { readonly kind: EventKind; readonly reason: SkipReason };
  /** Nothing but trials is sent, the next in `forMs`; it has been so for `pausedMs`. */
  paused: {
    readonly scope: PauseScope;
    readonly reason: PauseReason;
    readonly because: string;
    readonly pausedMs: number;
    readonly forMs: number;
  };
  resumed: { readonly scope: PauseScope; readonly pausedMs: number };
}

/** Numbers of this process since its start, but for `queued`, `dead` and `oldestMs`, which are the outbox's. */
export interface Stats {
  /** Events that wait or are under way. */
  readonly queued: number;
  /** Attempts under way. */
  readonly inFlight: number;
  readonly delivered: number;
  /** Attempts that failed and were followed by another. */
  readonly retried: number;
  /** Reports of what had been reported before. */
  readonly duplicates: number;
  readonly skipped: Readonly<Record<SkipReason, number>>;
  readonly dropped: Readonly<Record<DropReason, number>>;
  readonly dead: Readonly<Record<DeathReason, number>>;
  /** How long ago the oldest queued event happened, in milliseconds. */
  readonly oldestMs: number | null;
  /** `paused`: the service or at least one of its endpoints is. */
  readonly state: "open" | "paused" | "closed";
  /** Each of the service's endpoints by itself. */
  readonly endpoints: Readonly<Record<Endpoint, EndpointState>>;
  /** What is wrong with the outbox's storage at this moment; absent where nothing is. */
  readonly trouble?: string;
}

const MINUTE_MS = 60_000;

/** Why nothing was reported, for the developer who waits for the first event. */
const WHY_SKIPPED: Record<Exclude<SkipReason, "disabled">, string> = {
  "no-attribution":
    "its request has neither a click id nor a session id. Visitors bring them in cookies, from a page with the browser snippet or `onClick`",
  consent: "`consent` did not return true for its visitor",
  prefetch: "the page was loaded ahead, and not yet opened",
  bot: "its User-Agent is taken for a bot's, as those of curl and headless browsers are",
  "not-a-page":
    "its request is not one for a page that a person opens: browsers say so in Sec-Fetch-Dest and Sec-Fetch-Mode, or accept text/html",
  zero: "its `leadValue` is zero",
  "not-referred": "the service knows of no affiliate who referred its visitor",
};

const REMEDIES: Record<PauseReason, string> = {
  unauthorized: "check `apiKey`: it is shown in the program's settings, in the marketing and tracking area",
  misconfigured: "check `baseUrl`: it is what comes before /api/v1/",
  unreachable: "check `baseUrl` and the way there; events wait, and go out when the service is back",
  failing: "nothing needs to be done: events wait, and go out when the service is back",
  silent: "nothing needs to be done: events wait, and go out when the service is back",
  throttled: "nothing needs to be done: events wait, and go out when the service asks for more",
};

export type Journal = ReturnType<typeof createJournal>;

/** What happened, kept as counts, told to listeners and logged. Nothing that a listener or logger does comes back. */
export function createJournal(parts: {
  logger: Logger;
  clock: Clock;
  /** Takes out of others' words what must not be shown. */
  hide?: (text: string) => string;
}) {
  const { logger, clock, hide = printable } = parts;
  const shown = (text: string) => maskEmails(hide(text));
  const emitter = new EventEmitter<Record<keyof Notices, [unknown]>>().setMaxListeners(0);
  const counts = {
    delivered: 0,
    retried: 0,
    duplicates: 0,
    skipped: {
      "no-attribution": 0,
      consent: 0,
      disabled: 0,
      prefetch: 0,
      bot: 0,
      "not-a-page": 0,
      zero: 0,
      "not-referred": 0,
    } as Record<SkipReason, number>,
    dropped: {
      invalid: 0,
      full: 0,
      "visitor-full": 0,
      "dead-letters-full": 0,
      outbox: 0,
      closed: 0,
      pick: 0,
    } as Record<DropReason, number>,
  };
  const quietUntil = new Map<string, number>();
  const unlogged = new Map<string, number>();
  const hinted = new Set<string>();
  const awaited = new Map<string, { keptIsEnough: boolean; resolve: () => void }>();
  let isToldOfUnconfirmed = false;
  const pausedSince = new Map<PauseScope, number>();

  function endWait(id: string): void {
    awaited.get(id)?.resolve();
    awaited.delete(id);
  }

  function tell<Name extends keyof Notices>(name: Name, notice: () => Notices[Name]): void {
    if (emitter.listenerCount(name) === 0) return;
    const told = notice();
    // Each by itself: what one listener throws must not keep the next from hearing.
    for (const listener of emitter.listeners(name)) {
      harmless(
        () => listener(told),
        (error) => warn(`listener of ${name}`, `a listener of "${name}" threw: ${error}`),
      );
    }
  }

  function log(level: "debug" | "info" | "warn" | "error", line: string): void {
    if (logger[level]) harmless(() => logger[level]?.(`express-affiliate: ${shown(line)}`));
  }

  /** At most once a minute for each subject; the next line says how many were left out. */
  function warn(subject: string, line: string): void {
    const now = clock.now();
    if (now < (quietUntil.get(subject) ?? 0)) {
      unlogged.set(subject, (unlogged.get(subject) ?? 0) + 1);
      return;
    }
    const more = unlogged.get(subject);
    log("warn", more ? `${line} (and ${more} more like this since the last such line)` : line);
    quietUntil.set(subject, now + MINUTE_MS);
    unlogged.delete(subject);
  }

  /** Says it the first time, and not in production: what is no trouble, but puzzles a developer. */
  function hint(subject: string, line: string): void {
    if (hinted.has(subject) || process.env.NODE_ENV === "production") return;
    hinted.add(subject);
    log("info", `${line} (said once, and not in production)`);
  }

  return {
    counts,
    emitter,
    log,
    warn,
    hint,
    /** Resolves when the event was delivered, given up or lost; or, where kept is enough, when an attempt came to nothing. */
    settled(id: string, keptIsEnough: boolean): Promise<void> {
      if (keptIsEnough && pausedSince.size > 0) return Promise.resolve();
      return new Promise((resolve) => awaited.set(id, { keptIsEnough, resolve }));
    },
    /** Nobody will deliver anything any more. */
    endWaits(): void {
      for (const id of awaited.keys()) endWait(id);
    },
    queued(event: OutboxEvent) {
      tell("queued", () => noticeOf(event));
    },
    duplicate() {
      counts.duplicates++;
    },
    delivered(event: OutboxEvent, attempts: number) {
      counts.delivered++;
      endWait(event.id);
      tell("delivered", () => ({ ...noticeOf(event), attempts }));
    },
    retry(event: OutboxEvent, attempts: number, inMs: number, because: string) {
      counts.retried++;
      if (awaited.get(event.id)?.keptIsEnough) endWait(event.id);
      tell("retry", () => ({ ...noticeOf(event), attempts, inMs, because: shown(because) }));
    },
    dead(event: OutboxEvent, death: Death) {
      endWait(event.id);
      const { reason, code = "", message = "" } = death;
      tell("dead", () => ({
        ...noticeOf(event),
        ...death,
        ...(death.message && { message: shown(message) }),
      }));
      warn(`dead ${reason}`, `a ${event.kind} is now a dead letter: ${reason} ${code} ${message}`.trimEnd());
    },
    dropped(kind: EventKind, reason: DropReason, details: { event?: OutboxEvent; message?: string } = {}) {
      counts.dropped[reason]++;
      const { event, message } = details;
      if (event) endWait(event.id);
      tell("dropped", () => ({
        ...(event && noticeOf(event)),
        kind,
        reason,
        ...(message && { message: shown(message) }),
      }));
      warn(`dropped ${kind} ${reason}`, `a ${kind} was dropped: ${message ?? reason}`);
    },
    /** @param event where it was in the outbox already. */
    skipped(kind: EventKind, reason: SkipReason, event?: OutboxEvent) {
      counts.skipped[reason]++;
      if (event) endWait(event.id);
      tell("skipped", () => ({ kind, reason }));
      log("debug", `a ${kind} was skipped: ${reason}`);
      if (reason === "disabled") return;
      hint(`skipped ${kind} ${reason}`, `a ${kind} is not reported: ${WHY_SKIPPED[reason]}`);
    },
    paused(
      scope: PauseScope,
      {
        reason,
        because,
        pausedMs,
        forMs,
      }: { reason: PauseReason; because: string; pausedMs: number; forMs: number },
    ) {
      const since = pausedSince.get(scope) ?? clock.now() - pausedMs;
      pausedSince.set(scope, since);
      for (const [id, { keptIsEnough }] of awaited) if (keptIsEnough) endWait(id);
      tell("paused", () => ({ scope, reason, because: shown(because), pausedMs, forMs }));
      warn(
        `paused ${scope} ${reason}`,
        `delivery to ${nameOf(scope)} is paused, ${reason} since ${new Date(since).toISOString()}: ${because}; ${REMEDIES[reason]}`,
      );
    },
    /** An endpoint refuses an event, and has taken no other since: the key or the address may be wrong. */
    refused(endpoint: Endpoint, reason: PauseReason, because: string) {
      warn(`refused ${endpoint}`, `${nameOf(endpoint)} refuses events: ${because}; ${REMEDIES[reason]}`);
    },
    /** The status endpoint does not say whether visitors were referred: their events are sent without that. */
    unconfirmed(because: string) {
      if (isToldOfUnconfirmed) return;
      isToldOfUnconfirmed = true;
      log(
        "warn",
        `the status endpoint does not say whether an affiliate referred a visitor: ${because}; customers who are known by a ` +
          'login session alone are reported without that; check `apiKey`, or set `confirmReferral: "never"`',
      );
    },
    resumed(scope: PauseScope) {
      const pausedMs = clock.now() - (pausedSince.get(scope) ?? clock.now());
      pausedSince.delete(scope);
      tell("resumed", () => ({ scope, pausedMs }));
      log("info", `delivery to ${nameOf(scope)} goes on after ${Math.round(pausedMs / 1000)} s`);
    },
  };
}

function nameOf(scope: PauseScope): string {
  return scope === "origin" ? "the service" : `the endpoint ${scope}`;
}

function noticeOf(event: OutboxEvent): EventNotice {
  const { id, kind, data } = event;
  const email = emailOf(event);
  return {
    id,
    kind,
    ...(data.clickId !== undefined && { clickId: data.clickId }),
    ...(data.sessionId !== undefined && { sessionId: data.sessionId }),
    ...(email !== undefined && { email: maskEmail(email) }),
  };
}
