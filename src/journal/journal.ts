import { EventEmitter } from "node:events";
import type { ConversionKind, EventKind, OutboxEvent } from "../conversion/events.js";
import { byKind, rowOf } from "../conversion/kinds.js";
import type { Death, Decision } from "../outbox/dead-letters.js";
import type { Endpoint, PauseReason, PauseScope } from "../service/endpoints.js";
import type { Clock } from "../shared/clock.js";
import { maskEmails } from "../shared/emails.js";
import { harmless } from "../shared/harmless.js";
import { kindOf, namedAs, printable } from "../shared/printable.js";
import { Ring } from "../shared/ring.js";
import { createLog, type Logger, wordsOf } from "./log.js";
import { type DropReason, type Notices, noticeOf, type SkipReason } from "./notices.js";

// This process never learns the outcome of an event that another process delivers.
const MOST_UNSETTLED = 10_000;

/** Why nothing was reported, for the developer who waits for the first event. */
const WHY_SKIPPED: Record<SkipReason, string | undefined> = {
  disabled: undefined,
  "no-attribution":
    "neither a click id nor a session id is known of its visitor. Visitors bring them in cookies, from a page with the browser snippet or " +
    "`onClick`; outside a request they are in the snapshot",
  consent: "`consent` did not return true for its visitor",
  prefetch: "the page was loaded ahead, and not yet opened",
  bot: "its User-Agent is taken for a bot's, as those of curl and headless browsers are",
  "not-a-page":
    "its request is not one for a page that a person opens: browsers say so in Sec-Fetch-Dest and Sec-Fetch-Mode, or accept text/html",
  zero: "its `leadValue` is zero",
  "not-referred": "the service knows of no affiliate who referred its visitor",
};

/** Messages for drops that the outbox decided. Other callers pass their own. */
const WHY_DROPPED: Readonly<Record<DropReason, string | undefined>> = {
  ...{ invalid: undefined, outbox: undefined, closed: undefined, pick: undefined },
  full: "the outbox is full, and a more urgent event came",
  "visitor-full": "too many clicks of its visitor wait, and a newer one came",
  "dead-letters-full": "it was a dead letter, of which the outbox keeps no more, and a newer one came",
};

/** What the host's operator can do about a pause. */
const REMEDIES: Record<PauseReason, string> = {
  unauthorized: "check `apiKey`: it is shown in the program's settings, in the marketing and tracking area",
  misconfigured: "check `baseUrl`: it is what comes before /api/v1/",
  unreachable: "check `baseUrl` and the way there; events wait, and go out when the service is back",
  failing: "nothing needs to be done: events wait, and go out when the service is back",
  silent: "nothing needs to be done: events wait, and go out when the service is back",
  throttled: "nothing needs to be done: events wait, and go out when the service asks for more",
};

export type Journal = ReturnType<typeof createJournal>;

/** Counts, calls listeners, and writes the log. An error of a listener or logger does no harm. */
export function createJournal(parts: {
  logger: Logger;
  clock: Clock;
  /** Removes secrets from what the service, Node and the host say. */
  hide?: (text: string) => string;
}) {
  const { logger, clock, hide = printable } = parts;
  const shown = (text: string) => maskEmails(hide(text));
  const emitter = new EventEmitter<Record<keyof Notices, [unknown]>>().setMaxListeners(0);
  const { click: _, ...unreported } = byKind(() => 0);
  const counts = {
    unreported,
    delivered: 0,
    retried: 0,
    duplicates: 0,
    skipped: zeros(WHY_SKIPPED),
    dropped: zeros(WHY_DROPPED),
  };
  const { log, warn, hint, once, isNews } = createLog({ logger, clock, shown });
  const awaited = new Map<string, { orAttempted: boolean; resolve: () => void }>();
  const unsettled = new Set<string>();
  const lastQueued = new Ring<string>(MOST_UNSETTLED);

  function endWait(id: string): void {
    awaited.get(id)?.resolve();
    awaited.delete(id);
  }

  function end({ id }: { readonly id: string }): void {
    unsettled.delete(id);
    endWait(id);
  }

  function emit<Name extends keyof Notices>(name: Name, notice: () => Notices[Name]): void {
    if (emitter.listenerCount(name) === 0) return;
    const emitted = notice();
    // One that throws must not keep the next from being called.
    for (const listener of emitter.listeners(name)) {
      harmless(
        () => listener(emitted),
        (error) => warn("listener", `a listener of "${name}" threw: ${error}`),
      );
    }
  }

  return {
    counts,
    emitter,
    log,
    warn,
    hint,
    once,
    /** The names of unknown fields in a report; each is logged once. */
    notSent(kind: EventKind, names: readonly string[]) {
      const news = names.filter((name) => isNews(`${kind} ${name}`));
      if (news.length === 0) return;
      const given = news.map(namedAs).join(", ");
      const fields = Object.keys(rowOf(kind).fields).map(namedAs).join(", ");
      log("warn", `a ${kind} was reported with ${given}, which is not sent; its fields are ${fields}`);
    },
    /** A value that is no id, such as a number; logged once for each place. */
    noId(place: string, id: unknown) {
      const what = typeof id === "string" ? `the text "${id}"` : kindOf(id);
      once(place, `${place} is ${what}, which is no id; it is ignored`);
    },
    /** Resolves when its outcome is known; with `orAttempted`, also when an attempt has failed. */
    ended(id: string, { orAttempted = false } = {}): { readonly promise: Promise<void>; cancel(): void } {
      const promise = new Promise<void>((resolve) => awaited.set(id, { orAttempted, resolve }));
      return { promise, cancel: () => endWait(id) };
    },
    /** Nothing more is delivered. */
    endWaits(): void {
      for (const id of awaited.keys()) endWait(id);
    },
    /** How many of this process's last 10,000 events, scheduled ones apart, have no outcome yet. */
    get withoutOutcome(): number {
      return unsettled.size;
    },
    /** Whether this process queued the event, and its outcome is expected soon. */
    awaits: (id: string): boolean => unsettled.has(id),
    queued(event: OutboxEvent, isScheduled = false) {
      emit("queued", () => noticeOf(event));
      if (isScheduled) return;
      // Not by the set's first element: to find it, V8 steps over all deleted ones.
      const oldest = lastQueued.replaceOldest(event.id);
      if (oldest !== undefined) unsettled.delete(oldest);
      unsettled.add(event.id);
    },
    /** No outcome will come: ends all waits for one. */
    erased: end,
    duplicate(event: OutboxEvent) {
      counts.duplicates++;
      hint(
        "duplicate",
        `${nameOf(event)} is a duplicate: it was reported before, and is not sent again. ` +
          "If your database or the sandbox's ledger was reset since, empty the outbox, too",
      );
    },
    attempt(event: OutboxEvent, attempts: number, startedAt: number) {
      emit("attempt", () => ({ ...noticeOf(event), attempts, startedAt }));
    },
    delivered(event: OutboxEvent, attempts: number, leadId?: number) {
      counts.delivered++;
      end(event);
      emit("delivered", () => ({ ...noticeOf(event), attempts, ...(leadId !== undefined && { leadId }) }));
    },
    retry(event: OutboxEvent, attempts: number, inMs: number, because: string) {
      counts.retried++;
      if (awaited.get(event.id)?.orAttempted) endWait(event.id);
      emit("retry", () => ({ ...noticeOf(event), attempts, inMs, because: shown(because) }));
    },
    dead(event: OutboxEvent, death: Death) {
      end(event);
      const { reason } = death;
      const [code, message] = [shown(death.code ?? ""), shown(death.message ?? "")];
      const words = { ...(code && { code }), ...(message && { message }) };
      emit("dead", () => ({ ...noticeOf(event), ...death, ...words }));
      const because = `${reason} ${code} ${message}`.trimEnd();
      const says = `${reason} ${death.status} ${wordsOf(message)}`;
      warn("dead", `${nameOf(event)} is now a dead letter: ${because}`, says);
    },
    /** @param details.hostId what the host calls it, if it is no event. */
    dropped(
      kind: EventKind,
      reason: DropReason,
      details: { event?: OutboxEvent; hostId?: string | undefined; message?: string } = {},
    ) {
      counts.dropped[reason]++;
      const { event, hostId, message = WHY_DROPPED[reason] ?? reason } = details;
      if (event) end(event);
      const whose = event ? noticeOf(event) : hostId !== undefined && { hostId };
      emit("dropped", () => ({ ...whose, kind, reason, message: shown(message) }));
      const named = hostId === undefined ? `a ${kind}` : `the ${kind} ${JSON.stringify(hostId)}`;
      const line = `${event ? nameOf(event) : named} was dropped: ${message}`;
      // An accepted payment that is lost: each has a line of its own.
      if (event?.kind === "payment") log("error", line);
      else warn(`dropped ${kind}`, line, wordsOf(message));
    },
    /** @param event if it was in the outbox. */
    skipped(kind: EventKind, reason: SkipReason, event?: OutboxEvent) {
      counts.skipped[reason]++;
      if (event) end(event);
      emit("skipped", () => ({ ...(event && noticeOf(event)), kind, reason }));
      log("debug", `a ${kind} was skipped: ${reason}`);
      const why = WHY_SKIPPED[reason];
      if (why !== undefined) hint(`skipped ${kind} ${reason}`, `a ${kind} is not reported: ${why}`);
    },
    /** @param line is logged: it names the route, the mistake and what to write instead. */
    unreported(kind: ConversionKind, line: string | undefined) {
      counts.unreported[kind]++;
      if (line !== undefined) warn("unreported", line, line);
    },
    paused(scope: PauseScope, pause: Omit<Notices["paused"], "scope">) {
      const { reason, because } = pause;
      emit("paused", () => ({ scope, ...pause, because: shown(because) }));
      const since = new Date(clock.now() - pause.pausedMs).toISOString();
      const what = `delivery to ${pathOf(scope)} is paused, ${reason} since ${since}`;
      warn("paused", `${what}: ${because}; ${REMEDIES[reason]}`);
    },
    /** An endpoint refuses an event, and took no other since: the key or address may be wrong. */
    refused(endpoint: Endpoint, reason: PauseReason, because: string) {
      warn("refused", `${pathOf(endpoint)} refuses events: ${because}; ${REMEDIES[reason]}`);
    },
    /** The status endpoint does not say whether visitors were referred: their events are sent. */
    unconfirmed(because: string) {
      once(
        "unconfirmed",
        `the status endpoint does not say whether an affiliate referred a visitor: ${because}; customers who are known by a ` +
          'login session alone are reported without that; check `apiKey`, or set `confirmReferral: "never"`',
      );
    },
    /** What an operator does to money leaves a trace, in production too. */
    decided(decision: Decision) {
      emit("decided", () => decision);
      log("warn", decisionLine(decision));
    },
    resumed(scope: PauseScope, pausedMs: number) {
      emit("resumed", () => ({ scope, pausedMs }));
      log("info", `delivery to ${pathOf(scope)} goes on after ${Math.round(pausedMs / 1000)} s`);
    },
  };
}

function zeros<Reason extends string>(reasons: Readonly<Record<Reason, unknown>>): Record<Reason, number> {
  return Object.fromEntries(Object.keys(reasons).map((reason) => [reason, 0])) as Record<Reason, number>;
}

function pathOf(scope: PauseScope): string {
  return scope === "origin" ? "the service" : `the endpoint ${scope}`;
}

function decisionLine({ action, by, count, id, kind, reason, amount }: Decision): string {
  const one =
    id === undefined ? undefined : `the ${[reason, kind ?? "event"].filter(Boolean).join(" ")} (${id})`;
  const what = one ?? [`${count} dead letters`, kind && `${kind}s`, reason].filter(Boolean).join(", ");
  const worth = amount === undefined ? "" : ` of ${amount}`;
  const done = action === "retry" ? "queued again" : "discarded";
  const who = by === undefined ? "" : ` by ${JSON.stringify(by)}`;
  return `on the dashboard, ${what}${worth} ${one || count === 1 ? "was" : "were"} ${done}${who}`;
}

/** What the host calls an event, if the host has a name for it, and the event's id. */
function nameOf({ id, kind, data }: OutboxEvent): string {
  const { paymentId, customerId } = data as { paymentId?: string; customerId?: string };
  const hostId = paymentId ?? customerId;
  return `the ${kind} ${hostId === undefined ? "" : `${JSON.stringify(hostId)} `}(${id})`;
}
