import type { RequestHandler } from "express";
import { createDelivery } from "./delivery/delivery.js";
import type { Attribution, Click, EventKind, Payment, Registration } from "./events.js";
import { createJournal, type Notices, type Stats } from "./journal.js";
import { type AffiliateOptions, readConfig } from "./options.js";
import type { Outbox } from "./outbox/outbox.js";
import { type AttributionInput, attributionFrom } from "./request/attribution-input.js";
import { createOnClick, type OnClickOptions } from "./request/on-click.js";
import { createWrapper, type WrapHandler } from "./request/on-conversion.js";
import type { RequestSource } from "./request/request-source.js";
import { type AttributionRoom, affiliateOf, createAttributionOf } from "./request/visitor.js";
import { callsFor, createClient, type TrackingClient } from "./service/client.js";
import { createTransport } from "./service/transport.js";
import { systemClock } from "./shared/clock.js";
import { presentable } from "./shared/secret.js";
import { VERSION } from "./shared/version.js";
import { type CloseOptions, createLifecycle, type FlushOptions } from "./shutdown.js";
import { createTrack, type Receipt } from "./track.js";

/** What `trackClick` and its like take beside what happened. */
export interface TrackOptions {
  /** The host's own database transaction: the event is reported if and only if it commits. Needs an outbox that can. */
  readonly transaction?: unknown;
}

type Report<Happened> = (
  happened: Happened,
  /** What `req.affiliate.snapshot()` gave when the visitor was there. */
  attribution?: AttributionInput,
  options?: TrackOptions,
) => Promise<Receipt>;

/** Express middleware that sets `req.affiliate`, with everything else of the package as its members. */
export interface Affiliate extends RequestHandler {
  /** Middleware for landing pages: turns `?ref=CODE` into a click and sets the first-party cookies. */
  onClick(options?: OnClickOptions): RequestHandler;
  /** Wraps the sign-up handler. */
  readonly onRegistration: WrapHandler<Registration>;
  /** Wraps the handler that completes a checkout. */
  readonly onPayment: WrapHandler<Payment>;
  /** Reports a click outside a request. Never rejects. */
  readonly trackClick: Report<Click>;
  /** Reports a registration outside a request. Never rejects. */
  readonly trackRegistration: Report<Registration>;
  /** Reports a payment outside a request: a webhook, a renewal, a job. Never rejects. */
  readonly trackPayment: Report<Payment>;
  /**
   * `{ clickId, sessionId }` of a request that is not Express's: a request of Node, a `Request` or `Headers` of the Fetch
   * standard. With `consent`, `cookieName` and `session` as for any other; these are called with what stands in for an Express
   * request (`headers`, `cookies`, `get()`). Never throws. Hand it to `trackRegistration` or `trackPayment`.
   */
  readonly attributionOf: (source: RequestSource) => Attribution;
  /** The five endpoints of the specification, one attempt each, awaited; these do reject. */
  readonly client: TrackingClient;
  /** What was rejected, is unconfirmed, or grew too old. */
  readonly deadLetters: Outbox["deadLetters"];
  /** What happened so far, in numbers. Costs nothing worth mentioning. */
  stats(): Stats;
  /** Has `listener` told of each notice of that name. One that throws harms nothing. */
  on<Name extends keyof Notices>(name: Name, listener: (notice: Notices[Name]) => void): this;
  /** Has `listener` told no more. */
  off<Name extends keyof Notices>(name: Name, listener: (notice: Notices[Name]) => void): this;
  /**
   * Waits until all that is queued is settled; or, with a durable outbox, until nothing more can be delivered now; or until
   * the time is up. `left`: how many events are queued still.
   */
  flush(options?: FlushOptions): Promise<{ settled: boolean; left: number }>;
  /**
   * Takes nothing more from the outbox, lets what is under way finish, or aborts it when the time is up, and closes the
   * outbox. `left`: how many events are queued still; `durable`: whether they will be there for the next process.
   */
  close(options?: CloseOptions): Promise<{ left: number; durable: boolean }>;
}

/**
 * Reports what happens on this backend to the tracking service: exactly as often as it happened, and the visitor never
 * waits for it.
 *
 * @throws OptionsError that lists everything that is wrong with the options.
 */
export function affiliate(options: AffiliateOptions): Affiliate {
  const config = readConfig(options);
  const { clientId, outbox, enabled, apiKey } = config;
  const { concurrency, connectTimeoutMs, timeoutMs, maxAgeMs, ambiguous } = config.delivery;
  const clock = systemClock;
  const hide = (text: string) => presentable(text, apiKey);
  const journal = createJournal({ logger: config.logger, clock, hide });

  const transport = createTransport({
    baseUrl: config.baseUrl,
    connections: concurrency,
    connectTimeoutMs,
    proxy: config.proxy,
    timeoutMs,
    clock,
    headers: {
      accept: "application/json",
      "user-agent": `express-affiliate/${VERSION}`,
      ...(apiKey && { authorization: `Bearer ${apiKey.reveal()}` }),
    },
  });
  const client = createClient(transport, { clientId, clock, hide });
  const delivery = createDelivery({
    transport,
    calls: callsFor(clientId),
    concurrency,
    maxAgeMs,
    ambiguous,
    journal,
    hide,
    onCapacity: () => outbox.wake(),
    clock,
  });
  const lifecycle = createLifecycle({ outbox, delivery, transport, journal });
  const track = createTrack({ clientId, enabled, outbox, journal, clock, isClosed: () => lifecycle.closed });
  const room: AttributionRoom = {
    config,
    journal,
    clock,
    track,
    visitors: new WeakMap(),
    settled: (id) => journal.settled(id, outbox.durable),
    status: client.status,
  };

  if (enabled) {
    outbox.start(delivery, {
      dropped: (event, reason) => journal.dropped(event.kind, reason, { event }),
      degraded: (error) => journal.log("warn", `the ${outbox.name} outbox is in trouble: ${error.message}`),
      recovered: () => journal.log("warn", `the ${outbox.name} outbox is well again`),
    });
  }

  function reporter<Happened>(kind: EventKind): Report<Happened> {
    return (happened, attribution, { transaction } = {}) =>
      track(kind, happened, attributionFrom(attribution), { transaction });
  }

  const members = {
    onClick: createOnClick(room),
    onRegistration: createWrapper<Registration>("registration", room),
    onPayment: createWrapper<Payment>("payment", room),
    attributionOf: createAttributionOf(room),
    trackClick: reporter<Click>("click"),
    trackRegistration: reporter<Registration>("registration"),
    trackPayment: reporter<Payment>("payment"),
    client,
    deadLetters: outbox.deadLetters,
    stats(): Stats {
      const { queued, dead, oldest, trouble } = outbox.counts();
      const { delivered, retried, duplicates, skipped, dropped } = journal.counts;
      const { endpoints } = delivery;
      const isPaused = Object.values(endpoints).some(({ state }) => state === "paused");
      return {
        queued,
        inFlight: delivery.inFlight,
        delivered,
        retried,
        duplicates,
        skipped: { ...skipped },
        dropped: { ...dropped },
        dead,
        oldestMs: oldest === null ? null : Math.max(0, clock.now() - oldest),
        state: lifecycle.closed ? "closed" : isPaused ? "paused" : "open",
        endpoints,
        ...(trouble !== undefined && { trouble }),
      };
    },
    on(name: keyof Notices, listener: (notice: never) => void) {
      journal.emitter.on(name, listener as (notice: unknown) => void);
      return tracker;
    },
    off(name: keyof Notices, listener: (notice: never) => void) {
      journal.emitter.off(name, listener as (notice: unknown) => void);
      return tracker;
    },
    flush: lifecycle.flush,
    close: lifecycle.close,
  };
  const middleware: RequestHandler = function affiliateMiddleware(req, _res, next) {
    affiliateOf(req, room);
    next();
  };
  const tracker = Object.assign(middleware, members) as Affiliate;
  return tracker;
}
