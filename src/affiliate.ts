import type { RequestHandler } from "express";
import { type Config, readConfig } from "./config.js";
import type { Click } from "./conversion/click.js";
import { paymentEventId } from "./conversion/event-from.js";
import type { EventKind } from "./conversion/events.js";
import { byKind } from "./conversion/kinds.js";
import type { Payment } from "./conversion/payment.js";
import type { Registration } from "./conversion/registration.js";
import { createDelivery } from "./delivery/delivery.js";
import { createJournal } from "./journal/journal.js";
import type { Stats } from "./journal/notices.js";
import type { AffiliateOptions } from "./options.js";
import type { OutboxCounts } from "./outbox/counts.js";
import { shownLetters } from "./outbox/dead-letters.js";
import type { Person } from "./outbox/personal-data.js";
import { attributionFrom } from "./request/attribution-input.js";
import { createReferenceWatch, passesUncalled } from "./request/host-mistakes.js";
import { createKeepClickId } from "./request/keep-click-id.js";
import { createOnClick } from "./request/on-click.js";
import { createWrapper } from "./request/on-conversion.js";
import { affiliateOf, createAttributionOf, type RequestContext } from "./request/visitor.js";
import { callsFor } from "./service/calls.js";
import { createClient } from "./service/client.js";
import { checkUndici } from "./service/connections.js";
import { idempotencyKeys } from "./service/idempotency.js";
import { createTransport } from "./service/transport.js";
import { type Clock, systemClock } from "./shared/clock.js";
import { detached } from "./shared/own-context.js";
import { presentable } from "./shared/secret.js";
import { VERSION } from "./shared/version.js";
import { createSafeToFreeze, createShutdown } from "./shutdown.js";
import { createTrack } from "./track.js";
import type { Affiliate, TrackFunction } from "./tracker.js";

/**
 * Creates a tracker: it reports this backend's clicks, registrations and payments to the tracking
 * service, each exactly as often as it happened. The visitor never waits for it.
 *
 * @example
 * ```js
 * import { affiliate } from "express-affiliate";
 *
 * const tracker = affiliate({
 *   baseUrl: process.env.TRACKING_URL, // what comes before /api/v1/
 *   clientId: Number(process.env.TRACKING_CLIENT_ID),
 *   apiKey: process.env.TRACKING_API_KEY,
 * });
 * app.use(tracker);
 * ```
 * @throws OptionsError that lists everything that is wrong with the options.
 * @throws OutboxError if the outbox cannot be opened.
 */
export function affiliate(options: AffiliateOptions): Affiliate;
export function affiliate(...args: [AffiliateOptions]): Affiliate {
  const written = "app.use(affiliate({ baseUrl, clientId }))";
  if (passesUncalled(args, { name: "affiliate", written, warn: warnOnce })) return undefined as never;
  const [options] = args;
  const config = readConfig(options);
  const { clientId, enabled, delivers, apiKey, outbox } = config;
  const clock = systemClock;
  const hide = (text: string) => presentable(text, apiKey);
  const journal = createJournal({ logger: config.logger, clock, hide });

  const transport = transportFor(config, clock);
  const delivery = createDelivery({
    ...{ ...config.delivery, confirmReferral: config.confirmReferral },
    ...{ transport, calls: callsFor(clientId), keyOf: idempotencyKeys(apiKey?.reveal()) },
    ...{ journal, hide, clock, unanswered: outbox.unanswered, onCapacity: () => outbox.wake() },
  });
  // First: an outbox that cannot be opened throws.
  if (enabled) {
    checkUndici();
    detached(start)();
  }

  function start(): void {
    if (delivers) transport.prepare();
    else delivery.stop();
    if (delivers && outbox.name === "memory" && process.env.NODE_ENV === "production") {
      journal.log(
        "warn",
        "events wait in memory: what waits when this process ends is lost. Give the option `outbox`",
      );
    }
    outbox.bind(clientId);
    outbox.start(delivery, {
      dropped: detached((event, reason) => journal.dropped(event.kind, reason, { event })),
      degraded: detached(({ message }) =>
        journal.log(
          "warn",
          `the storage of the ${outbox.name} outbox fails, and events wait in memory: ${message}`,
        ),
      ),
      recovered: detached(() => journal.log("warn", `the storage of the ${outbox.name} outbox works again`)),
      erased: journal.erased,
      cautioned: detached((caution) => journal.log("warn", caution)),
    });
  }

  const client = createClient(enabled ? transport : SENDS_NOTHING, { clientId, clock, hide });
  const shutdown = createShutdown({ outbox, delivery, transport, journal });
  const isClosed = () => shutdown.closed;
  const track = createTrack({ clientId, apiKey, enabled, outbox, journal, clock, isClosed });
  const context: RequestContext = {
    ...{ config, journal, clock, track, visitorKey: Symbol("affiliate") },
    safeToFreeze: createSafeToFreeze({ outbox, journal, delivers, attemptMs: config.delivery.timeoutMs }),
    status: enabled ? client.status : async () => undefined,
    references: createReferenceWatch(journal),
    holds: () => outbox.storesAtOnce === true,
  };

  function reporter<Happened>(kind: EventKind): TrackFunction<Happened> {
    return (happened, attribution, options) =>
      track(kind, happened, attributionFrom(attribution, journal.noId), options);
  }

  function passable<Args extends unknown[]>(written: string, make: (...args: Args) => RequestHandler) {
    const [name = ""] = written.split("(", 1);
    const warn = (line: string) => journal.once(name, line);
    return (...args: Args): RequestHandler =>
      passesUncalled(args, { name, written, warn }) ? (undefined as never) : make(...args);
  }

  const members = {
    onClick: passable("tracker.onClick()", createOnClick(context)),
    keepClickId: passable("tracker.keepClickId()", createKeepClickId(context)),
    onRegistration: passable("tracker.onRegistration(handler)", createWrapper("registration", context)),
    onPayment: passable("tracker.onPayment(handler)", createWrapper("payment", context)),
    attributionOf: createAttributionOf(context),
    trackClick: reporter<Click>("click"),
    trackRegistration: reporter<Registration>("registration"),
    trackPayment: reporter<Payment>("payment"),
    client,
    cancelPayment: async (paymentId: unknown) => outbox.cancel(paymentEventId(clientId, paymentId)),
    personalData: async (person: Person) => outbox.personalData(person),
    erase: async (person: Person) => outbox.erase(person),
    deadLetters: shownLetters(outbox.deadLetters, journal.decided),
    stats(): Stats {
      const { queued, scheduled, byKind, dead, oldest, trouble } = outbox.counts();
      const { counts } = journal;
      const { endpoints } = delivery;
      const isPaused = Object.values(endpoints).some(({ state }) => state === "paused");
      const now = clock.now();
      return {
        ...counts,
        unreported: { ...counts.unreported },
        skipped: { ...counts.skipped },
        dropped: { ...counts.dropped },
        queued,
        ...(scheduled && {
          scheduled: {
            count: scheduled.count,
            nextInMs: scheduled.next === null ? null : Math.max(0, scheduled.next - now),
          },
        }),
        ...(byKind && { waiting: waitingAt(now, byKind) }),
        inFlight: delivery.inFlight,
        dead,
        oldestMs: ageAt(now, oldest),
        state: shutdown.closed ? "closed" : isPaused ? "paused" : "open",
        endpoints,
        ...(trouble !== undefined && { trouble }),
      };
    },
    on(...listening: Parameters<typeof journal.emitter.on>) {
      journal.emitter.on(...listening);
      return tracker;
    },
    off(...listening: Parameters<typeof journal.emitter.off>) {
      journal.emitter.off(...listening);
      return tracker;
    },
    flush: shutdown.flush,
    close: shutdown.close,
  };
  const middleware: RequestHandler = function affiliateMiddleware(req, res, next) {
    affiliateOf(req, context);
    context.references.watch(req, res);
    next();
  };
  const tracker = Object.assign(middleware, members) as Affiliate;
  return tracker;
}

const SENDS_NOTHING: Parameters<typeof createClient>[0] = {
  send: async () => ({ type: "no-answer", requestSent: false, error: new Error("`enabled` is false") }),
};

/** @throws OptionsError if the environment's proxy has no usable address. */
function transportFor({ baseUrl, apiKey, proxy, delivery }: Config, clock: Clock) {
  const { concurrency: connections, connectTimeoutMs, timeoutMs } = delivery;
  const headers = {
    accept: "application/json",
    "user-agent": `express-affiliate/${VERSION}`,
    ...(apiKey && { authorization: `Bearer ${apiKey.reveal()}` }),
  };
  return createTransport({ baseUrl, proxy, connections, connectTimeoutMs, timeoutMs, headers, clock });
}

let hasWarned = false;

/** Without options, there is no logger. */
function warnOnce(line: string): void {
  if (!hasWarned) console.warn(`express-affiliate: ${line}`);
  hasWarned = true;
}

function waitingAt(now: number, kinds: NonNullable<OutboxCounts["byKind"]>) {
  return byKind((kind) => ({ queued: kinds[kind].queued, oldestMs: ageAt(now, kinds[kind].oldest) }));
}

function ageAt(now: number, happened: number | null): number | null {
  return happened === null ? null : Math.max(0, now - happened);
}
