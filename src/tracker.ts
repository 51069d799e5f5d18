import type { RequestHandler } from "express";
import type { Attribution } from "./events.js";
import type { Click, Payment, Registration } from "./inputs.js";
import type { Notices, Stats } from "./journal/journal.js";
import type { CancelOutcome, Outbox } from "./outbox/outbox.js";
import type { Person, PersonalEvent } from "./outbox/personal-data.js";
import type { AttributionInput } from "./request/attribution-input.js";
import type { KeepClickIdOptions } from "./request/keep-click-id.js";
import type { OnClickOptions } from "./request/on-click.js";
import type { RequestSource } from "./request/request-source.js";
import type { WrapHandler } from "./request/wrap-handler.js";
import type { TrackingClient } from "./service/client.js";
import type { CloseOptions, FlushOptions } from "./shutdown.js";
import type { Receipt } from "./track.js";

/** The options of `trackClick`, `trackRegistration` and `trackPayment`. */
export interface TrackOptions {
  /**
   * The host's own database transaction: the event is reported if and only if it commits. Needs an outbox that can take part,
   * such as `postgresOutbox`; with another one the receipt says `rejected`.
   */
  readonly transaction?: unknown;
  /**
   * Sends a payment although neither click id nor session id is known: the service looks for the customer by the address.
   * Default `false`: such a payment is skipped as `no-attribution`, because a visitor without consent leaves no ids. A
   * registration without ids is skipped in any case: no endpoint takes it.
   */
  readonly matchByEmail?: boolean | undefined;
}

export type TrackFunction<Happened> = (
  happened: Happened,
  /** What `req.affiliate.snapshot()` gave in the visitor's request. Without an id in it, the report is skipped as `no-attribution`. */
  attribution?: AttributionInput,
  options?: TrackOptions,
) => Promise<Receipt>;

/**
 * Express middleware that sets `req.affiliate`. All other functions of the tracker are its members. It never throws, awaits
 * nothing, and always calls `next()`.
 */
export interface Affiliate extends RequestHandler {
  /**
   * Middleware for landing pages: turns `?ref=CODE` into a click (§4.1) and sets the first-party cookies. Affiliates link to any page,
   * so mount it before routes and static files. It answers a prefetch of such an address with 503, so that the browser asks again
   * when the page is opened.
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
   * Middleware for the pages of sites with the browser snippet: sets the snippet's cookie again from the server, once for each click
   * id, because browsers cut the life of cookies that scripts set. Only with consent, and only on pages that a person opens. Not
   * for sites with `onClick`, whose cookies come from the server anyway.
   *
   * @example
   * ```js
   * app.use(tracker, tracker.keepClickId({ domain: "shop.example" }));
   * ```
   * @throws OptionsError if an option is wrong, or with the option `signed`: the snippet does not sign its cookie.
   */
  keepClickId(options?: KeepClickIdOptions): RequestHandler;
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
   * Withdraws a payment that waits for its `notBefore`. Rejects if the storage fails: then let the gateway call its webhook again.
   *
   * @returns `cancelled`: it is never sent, and its id stays known. `sent`: it was queued, delivered or given up before. `unknown`: no
   * such payment is known.
   * @example
   * ```js
   * const outcome = await tracker.cancelPayment("order-1"); // the `paymentId` of its report
   * ```
   */
  cancelPayment(paymentId: Payment["paymentId"]): Promise<CancelOutcome>;
  /**
   * Lists the queued events and dead letters of a person: conversions with the address, in upper or lower case; conversions and clicks
   * with the click id or session id; and clicks that share an id with one of these conversions. Reads the whole outbox, a few events at a
   * time. Rejects if the storage fails.
   *
   * @example
   * ```js
   * const events = await tracker.personalData({ email: user.email, ...user.affiliate });
   * ```
   */
  personalData(person: Person): Promise<readonly PersonalEvent[]>;
  /** Removes what `personalData` lists, unsent, but what is `under-way`. The ids stay known. Resolves to the number of removed events. */
  erase(person: Person): Promise<number>;
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
  /** The five endpoints of the specification (section 4) as methods. Each makes one attempt, and rejects if it fails. */
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
   * most for `timeoutMs` milliseconds (default 5,000). Does not wait for a payment's `notBefore`. Never rejects.
   *
   * @returns `settled`: whether nothing is queued but payments that wait for their `notBefore`; `left`: how many events are queued.
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
