import type { RequestHandler } from "express";
import type { Click } from "./conversion/click.js";
import type { Payment } from "./conversion/payment.js";
import type { Registration } from "./conversion/registration.js";
import type { Attribution } from "./conversion/visitor-ids.js";
import type { Notices, Stats } from "./journal/notices.js";
import type { CancelOutcome, Outbox } from "./outbox/outbox.js";
import type { Person, PersonalEvent } from "./outbox/personal-data.js";
import type { AttributionInput } from "./request/attribution-input.js";
import type { CookieSettings } from "./request/first-party-cookie.js";
import type { OnClickOptions } from "./request/on-click.js";
import type { RequestSource } from "./request/request-source.js";
import type { WrapHandler } from "./request/wrap-handler.js";
import type { TrackingClient } from "./service/client.js";
import type { TimeLimit } from "./shutdown.js";
import type { Receipt, TrackOptions } from "./track.js";

export type TrackFunction<Happened> = (
  happened: Happened,
  /** What `req.affiliate.snapshot()` gave. Without an id, it is skipped as `no-attribution`. */
  attribution?: AttributionInput,
  options?: TrackOptions,
) => Promise<Receipt>;

/**
 * Express middleware that sets `req.affiliate`; the tracker's other functions are its members. It
 * never throws, awaits nothing, and always calls `next()`.
 */
export interface Affiliate extends RequestHandler {
  /**
   * Middleware for landing pages: turns `?ref=CODE` into a click (§4.1) and sets first-party
   * cookies. Mount it before routes and static files, because affiliates link to any page. A
   * prefetch of such an address is answered with 503, so that the browser asks again when the page
   * is opened.
   *
   * @example
   * ```js
   * import express from "express";
   *
   * app.use(tracker, tracker.onClick());
   * app.use(express.static("public"));
   * ```
   * @throws OptionsError if an option is wrong.
   */
  onClick(options?: OnClickOptions): RequestHandler;
  /**
   * Middleware for sites with the browser snippet: sets its cookie again from the server, once for
   * each click id, because browsers cut the life of cookies that scripts set. Only with consent,
   * and on pages that a person opens. Not for sites with `onClick`, whose cookies come from the
   * server.
   *
   * @example
   * ```js
   * app.use(tracker, tracker.keepClickId({ domain: "shop.example" }));
   * ```
   * @throws OptionsError if an option is wrong, or with `signed`: the snippet does not sign.
   */
  keepClickId(options?: CookieSettings): RequestHandler;
  /**
   * Wraps the sign-up handler. Return the registration that happened (§4.2, §4.3); `undefined` or
   * `null` if none did.
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
   * Wraps the handler that completes a checkout. Return the payment that happened (§4.4), with
   * `leadValue` in major units; `undefined` or `null` if none did.
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
  /**
   * Reports a click outside a request (§4.1). Never rejects. Resolves within 1 s; with
   * `transaction`, when the database answers.
   */
  readonly trackClick: TrackFunction<Click>;
  /** Reports a registration outside a request (§4.2, §4.3), as `trackClick` does. */
  readonly trackRegistration: TrackFunction<Registration>;
  /**
   * Reports a payment outside a request (§4.4), as `trackClick` does: in a webhook, for a renewal,
   * in a job. `leadValue` is in major units: 19.9, not 1990.
   *
   * @example
   * ```js
   * const receipt = await tracker.trackPayment(
   *   { paymentId: order.id, customerEmail: user.email, leadValue: order.total },
   *   user.affiliate, // what `req.affiliate.snapshot()` gave at the sign-up
   * );
   * ```
   */
  readonly trackPayment: TrackFunction<Payment>;
  /**
   * Withdraws a payment that waits for its `notBefore`. If the storage fails, rejects: let the
   * gateway call its webhook again.
   *
   * @returns `cancelled`: it is never sent, and its id stays known. `sent`: it was queued,
   * delivered or given up before. `unknown`: no such payment is known.
   * @example
   * ```js
   * const outcome = await tracker.cancelPayment("order-1"); // the `paymentId` of its report
   * ```
   */
  cancelPayment(paymentId: Payment["paymentId"]): Promise<CancelOutcome>;
  /**
   * Lists a person's queued events and dead letters: conversions with the address, whatever its
   * case; conversions and clicks with the click id or session id; clicks that share an id with one
   * of these conversions. Reads the whole outbox, in parts. Rejects if the storage fails.
   *
   * @example
   * ```js
   * const events = await tracker.personalData({ email: user.email, ...user.affiliate });
   * ```
   */
  personalData(person: Person): Promise<readonly PersonalEvent[]>;
  /**
   * Removes what `personalData` lists, except what is `under-way`, and sends it no more. The ids
   * stay known. Resolves to the number of removed events.
   */
  erase(person: Person): Promise<number>;
  /**
   * The ids of a request that is not Express's, for `trackRegistration` and `trackPayment`: of
   * Node, or a `Request` or `Headers` of Fetch. Honours `consent`, `cookieName` and `session`,
   * whose functions get an object with `headers`, `cookies` and `get()`. Never throws.
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
  /** The specification's five endpoints (§4). Each makes one attempt, and rejects if it fails. */
  readonly client: TrackingClient;
  /**
   * Events that were given up: list, retry or discard them. These reject if the storage fails.
   *
   * @example
   * ```js
   * for (const { id, reason } of await tracker.deadLetters.list({ limit: 50 })) {
   *   if (reason === "rejected") await tracker.deadLetters.retry(id);
   * }
   * ```
   */
  readonly deadLetters: Outbox["deadLetters"];
  /** What happened so far, in numbers. Does no I/O. */
  stats(): Stats;
  /**
   * Calls `listener` for each notice of this name. If it throws, that is logged.
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
   * Waits until all queued events are delivered or given up (with a durable outbox: until nothing
   * more can be delivered now), at most for `timeoutMs` milliseconds (default 5,000). Does not wait
   * for a payment's `notBefore`. Never rejects.
   *
   * @returns `settled`: the storage works, and only payments that wait for their `notBefore` are
   * queued (`false` if there was no time to count); `left`: how many events are queued.
   */
  flush(options?: TimeLimit): Promise<{ settled: boolean; left: number }>;
  /**
   * Ends the tracker: claims no more events, lets attempts finish, aborts them when `timeoutMs`
   * milliseconds (default 5,000) are nearly up, and closes the outbox. Never rejects.
   *
   * @returns `left`: how many events are queued; `durable`: whether the next process finds them.
   * @example
   * ```js
   * process.once("SIGTERM", () => server.close(() => tracker.close({ timeoutMs: 5_000 })));
   * ```
   */
  close(options?: TimeLimit): Promise<{ left: number; durable: boolean }>;
}
