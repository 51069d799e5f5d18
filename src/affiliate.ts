import type { RequestHandler } from "express";
import { planOf, readConfig } from "./config.js";
import { createHostEngine } from "./engine/host-engine.js";
import type { Attribution, EventKind } from "./events.js";
import type { Click, Payment, Registration } from "./inputs.js";
import { createJournal, type Notices, type Stats } from "./journal.js";
import type { AffiliateOptions } from "./options.js";
import type { Outbox, OutboxCounts, QueuedOfKind } from "./outbox/outbox.js";
import { type AttributionInput, attributionFrom } from "./request/attribution-input.js";
import { createOnClick, type OnClickOptions } from "./request/on-click.js";
import { createWrapper, type WrapHandler } from "./request/on-conversion.js";
import type { RequestSource } from "./request/request-source.js";
import { affiliateOf, createAttributionOf, type RequestContext } from "./request/visitor.js";
import { createClient, type TrackingClient } from "./service/client.js";
import { destinationOf } from "./service/destination.js";
import { createUntilSafe } from "./settlement.js";
import { systemClock } from "./shared/clock.js";
import { presentable } from "./shared/secret.js";
import { type CloseOptions, createShutdown, type FlushOptions } from "./shutdown.js";
import { createTrack, type Receipt } from "./track.js";

/** The options of `trackClick`, `trackRegistration` and `trackPayment`. */
export interface TrackOptions {
  /**
   * The host's own database transaction: the event is reported if and only if it commits. Needs an outbox that can take part,
   * such as `postgresOutbox`; with another one the receipt says `rejected`.
   */
  readonly transaction?: unknown;
}

type TrackFunction<Happened> = (
  happened: Happened,
  /** What `req.affiliate.snapshot()` gave in the visitor's request. */
  attribution?: AttributionInput,
  options?: TrackOptions,
) => Promise<Receipt>;

/**
 * Express middleware that sets `req.affiliate`. All other functions of the tracker are its members. It never throws, awaits
 * nothing, and always calls `next()`.
 */
export interface Affiliate extends RequestHandler {
  /**
   * Middleware for landing pages: turns `?ref=CODE` into a click (§4.1) and sets the first-party cookies.
   *
   * @example
   * ```js
   * app.get("/", tracker.onClick(), (req, res) => res.send("Welcome"));
   * ```
   * @throws OptionsError where an option is wrong.
   */
  onClick(options?: OnClickOptions): RequestHandler;
  /**
   * Wraps the sign-up handler. Return the registration that happened (§4.2, §4.3); `undefined` or `null` where none did.
   *
   * @example
   * ```js
   * app.post(
   *   "/signup",
   *   tracker.onRegistration(async (req, res) => {
   *     const user = await users.create(req.body);
   *     const registration = { email: user.email, customerId: user.id, customerName: user.name };
   *     res.status(201).json(user);
   *     return registration;
   *   }),
   * );
   * ```
   */
  readonly onRegistration: WrapHandler<Registration>;
  /**
   * Wraps the handler that completes a checkout. Return the payment that happened (§4.4), with `leadValue` in major units;
   * `undefined` or `null` where none did.
   *
   * @example
   * ```js
   * app.post(
   *   "/checkout",
   *   tracker.onPayment(async (req, res) => {
   *     const order = await orders.complete(req.body.id);
   *     const payment = { paymentId: order.id, customerEmail: order.email, leadValue: order.total };
   *     res.json(order);
   *     return payment;
   *   }),
   * );
   * ```
   */
  readonly onPayment: WrapHandler<Payment>;
  /** Reports a click outside a request (§4.1). Never rejects; resolves within 1 s, but with `transaction` when the database answers. */
  readonly trackClick: TrackFunction<Click>;
  /** Reports a registration outside a request (§4.2, §4.3), as `trackClick` does. */
  readonly trackRegistration: TrackFunction<Registration>;
  /**
   * Reports a payment outside a request (§4.4), as `trackClick` does: in a webhook, for a renewal, in a job. `leadValue` is in
   * major units: 19.9, not 1990.
   *
   * @example
   * ```js
   * const receipt = await tracker.trackPayment(
   *   { paymentId: invoice.id, customerEmail: user.email, leadValue: invoice.total },
   *   user.affiliate, // what `req.affiliate.snapshot()` gave at the sign-up
   * );
   * ```
   */
  readonly trackPayment: TrackFunction<Payment>;
  /**
   * `{ clickId, sessionId }` of a request that is not Express's: a request of Node, a `Request` or `Headers` of the Fetch
   * standard. Pass them to `trackRegistration` or `trackPayment`. Honours `consent`, `cookieName` and `session`; your functions get
   * an object with `headers`, `cookies` and `get()`. Never throws.
   *
   * @example
   * ```js
   * async function handleSignup(request) {
   *   const attribution = tracker.attributionOf(request);
   *   const user = await users.create(await request.json());
   *   await tracker.trackRegistration({ email: user.email, customerId: user.id }, attribution);
   *   return Response.json({ id: user.id }, { status: 201 });
   * }
   * ```
   */
  readonly attributionOf: (source: RequestSource) => Attribution;
  /** The five endpoints of the specification (section 4) as methods. Each makes one attempt, and rejects where it fails. */
  readonly client: TrackingClient;
  /**
   * Events that were given up: list, retry or discard them. These reject where the storage fails.
   *
   * @example
   * ```js
   * for (const { id, reason } of await tracker.deadLetters.list({ limit: 50 })) {
   *   if (reason === "rejected") await tracker.deadLetters.retry(id);
   * }
   * ```
   */
  readonly deadLetters: Outbox["deadLetters"];
  /** What happened so far, in numbers. Cheap: does no I/O. */
  stats(): Stats;
  /**
   * Calls `listener` for each notice of this name; what it returns is ignored. A listener that throws is logged, and harms
   * nothing else.
   *
   * @example
   * ```js
   * tracker.on("dead", ({ kind, id, reason }) => console.error(`a ${kind} was not delivered: ${reason} (${id})`));
   * ```
   */
  on<Name extends keyof Notices>(name: Name, listener: (notice: Notices[Name]) => void): this;
  /** Removes a listener. */
  off<Name extends keyof Notices>(name: Name, listener: (notice: Notices[Name]) => void): this;
  /**
   * Waits until all queued events are delivered or given up; with a durable outbox, until nothing more can be delivered now; at
   * most for `timeoutMs` milliseconds (default 5,000). Never rejects.
   *
   * @returns `settled`: whether the outbox is empty; `left`: how many events are queued.
   */
  flush(options?: FlushOptions): Promise<{ settled: boolean; left: number }>;
  /**
   * Takes no more events from the outbox, lets attempts under way finish, aborts them when `timeoutMs` milliseconds (default
   * 5,000) are nearly up, and closes the outbox. Never rejects.
   *
   * @returns `left`: how many events are queued; `durable`: whether the next process finds them.
   * @example
   * ```js
   * process.once("SIGTERM", () => server.close(() => tracker.close({ timeoutMs: 5_000 })));
   * ```
   */
  close(options?: CloseOptions): Promise<{ left: number; durable: boolean }>;
}

/**
 * Creates a tracker: it reports clicks, registrations and payments of this backend to the tracking service, each exactly as often
 * as it happened. The visitor never waits for it.
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
 */
export function affiliate(options: AffiliateOptions): Affiliate {
  const config = readConfig(options);
  const { clientId, outbox, enabled, delivers, apiKey } = config;
  const clock = systemClock;
  const destination = destinationOf(clientId, config.baseUrl);
  const hide = (text: string) => presentable(text, apiKey);
  const journal = createJournal({ logger: config.logger, clock, hide });

  const engine = createHostEngine(() => planOf(config), {
    delivers,
    journal,
    onCapacity: () => outbox.wake(),
    clock,
  });
  const client = createClient(engine.transport, { clientId, clock, hide });
  const shutdown = createShutdown({ outbox, engine, journal });
  const track = createTrack({
    clientId,
    destination,
    enabled,
    outbox,
    journal,
    clock,
    isClosed: () => shutdown.closed,
  });
  const context: RequestContext = {
    config,
    journal,
    clock,
    track,
    visitors: new WeakMap(),
    untilSafe: createUntilSafe({ outbox, journal, delivers, attemptMs: config.delivery.timeoutMs }),
    status: client.status,
  };

  if (enabled) {
    outbox.start(engine.deliver, {
      dropped: (event, reason) => journal.dropped(event.kind, reason, { event }),
      degraded: (error) =>
        journal.log(
          "warn",
          `the storage of the ${outbox.name} outbox fails, and events wait in memory: ${error.message}`,
        ),
      recovered: () => journal.log("warn", `the storage of the ${outbox.name} outbox works again`),
    });
    void tellOfOtherDestinations();
  }

  async function tellOfOtherDestinations(): Promise<void> {
    try {
      const { byDestination = {} } = (await outbox.look?.()) ?? outbox.counts();
      const others = Object.entries(byDestination).filter(
        ([name, count]) => name !== destination && count > 0,
      );
      if (others.length > 0) journal.elsewhere(outbox.name, destination, others);
    } catch {
      // What is wrong with the storage is told by storing and claiming.
    }
  }

  function reporter<Happened>(kind: EventKind): TrackFunction<Happened> {
    return (happened, attribution, { transaction } = {}) =>
      track(kind, happened, attributionFrom(attribution), { transaction });
  }

  const members = {
    onClick: createOnClick(context),
    onRegistration: createWrapper<Registration>("registration", context),
    onPayment: createWrapper<Payment>("payment", context),
    attributionOf: createAttributionOf(context),
    trackClick: reporter<Click>("click"),
    trackRegistration: reporter<Registration>("registration"),
    trackPayment: reporter<Payment>("payment"),
    client,
    deadLetters: outbox.deadLetters,
    stats(): Stats {
      const { queued, byKind, dead, oldest, trouble } = outbox.counts();
      const { delivered, retried, duplicates, skipped, dropped } = journal.counts;
      const { endpoints } = engine;
      const isPaused = Object.values(endpoints).some(({ state }) => state === "paused");
      const now = clock.now();
      return {
        queued,
        ...(byKind && { waiting: waitingAt(now, byKind) }),
        inFlight: engine.inFlight,
        delivered,
        retried,
        duplicates,
        skipped: { ...skipped },
        dropped: { ...dropped },
        dead,
        oldestMs: ageAt(now, oldest),
        state: shutdown.closed ? "closed" : isPaused ? "paused" : "open",
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
    flush: shutdown.flush,
    close: shutdown.close,
  };
  const middleware: RequestHandler = function affiliateMiddleware(req, _res, next) {
    affiliateOf(req, context);
    next();
  };
  const tracker = Object.assign(middleware, members) as Affiliate;
  return tracker;
}

function waitingAt(now: number, { click, registration, payment }: NonNullable<OutboxCounts["byKind"]>) {
  const of = ({ queued, oldest }: QueuedOfKind) => ({ queued, oldestMs: ageAt(now, oldest) });
  return { click: of(click), registration: of(registration), payment: of(payment) };
}

function ageAt(now: number, happened: number | null): number | null {
  return happened === null ? null : Math.max(0, now - happened);
}
