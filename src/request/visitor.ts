import type { Request } from "express";
import { isbot } from "isbot";
import type { Config } from "../config.js";
import type { Click } from "../conversion/click.js";
import type { EventKind } from "../conversion/events.js";
import type { Payment } from "../conversion/payment.js";
import type { Registration } from "../conversion/registration.js";
import { type Attribution, isTextOfNothing, isVisitorId, loginSessionId } from "../conversion/visitor-ids.js";
import type { Journal } from "../journal/journal.js";
import type { TrackingStatus } from "../service/answers.js";
import type { Clock } from "../shared/clock.js";
import { harmless, isThenable } from "../shared/harmless.js";
import { shown } from "../shared/printable.js";
import type { Receipt, Track, TrackOptions } from "../track.js";
import { broughtSession, cookiesOf, onlyOurs, signedCookie } from "./cookies.js";
import { type ReferenceWatch, setAffiliate, watchUnseen } from "./host-mistakes.js";
import { userAgentOf } from "./page-view.js";
import type { RequestAffiliate } from "./request-affiliate.js";
import { type RequestSource, requestFrom } from "./request-source.js";

export interface RequestContext {
  readonly config: Config;
  readonly journal: Journal;
  readonly clock: Clock;
  readonly track: Track;
  /** Resolves when a process may freeze without losing the event. */
  readonly safeToFreeze: (id: string) => Promise<void>;
  readonly status: (sessionId: string) => Promise<TrackingStatus | undefined>;
  readonly references: ReferenceWatch;
  /** Whether a response waits until its payment is stored: see handled-response.ts. */
  readonly holds: () => boolean;
  /**
   * Of a request's property with this tracker's visitor: it is also there if the host wraps the
   * request. `req.affiliate` may be another tracker's.
   */
  readonly visitorKey: symbol;
}

/** Sets `req.affiliate`, which it makes when the tracker first sees the request. */
export function affiliateOf(req: Request, context: RequestContext): Visitor {
  let visitor = presentVisitor(req, context);
  if (!visitor) {
    watchUnseen(req, context.journal);
    visitor = new Visitor(req, context);
    Object.defineProperty(req, context.visitorKey, { value: visitor, configurable: true });
  }
  // If an app has two trackers, a wrapped handler reports through the tracker that wraps it.
  setAffiliate(req, visitor);
  return visitor;
}

function presentVisitor(req: Request, { visitorKey }: RequestContext): Visitor | undefined {
  return Reflect.get(req, visitorKey) as Visitor | undefined;
}

/** `attributionOf`, for handlers that are not Express's. Never throws. */
export function createAttributionOf(context: RequestContext): (source: RequestSource) => Attribution {
  return function attributionOf(source) {
    const req = harmless(() => requestFrom(source));
    if (req) return (presentVisitor(req, context) ?? new Visitor(req, context)).snapshot();
    context.journal.warn(
      "attributionOf",
      `\`attributionOf\` wants a request or its headers, got ${shown(source)}`,
    );
    return {};
  };
}

/**
 * The visitor of one request, as one tracker knows them, and what is reported of them.
 *
 * - Reads only with consent, and only when asked: session middleware may be mounted later, and most
 *   requests report nothing.
 * - An id that was found once stays, even if the session changes.
 */
export class Visitor implements RequestAffiliate {
  readonly #req: Request;
  readonly #context: RequestContext;
  // Taken before the handler, which may regenerate the session. Used with consent only.
  readonly #sessionAtEntry: unknown;
  #consented: boolean | undefined;
  #allCookies: Request["cookies"] | undefined;
  readonly #cookies = new Map<string, string | undefined>();
  #clickId: string | undefined;
  #sessionId: string | undefined;
  /** What this request still has to do, for hosts that freeze afterwards. */
  #pending: Promise<unknown>[] | undefined;
  readonly #reported = new Set<EventKind>();
  readonly #ahead: (() => void)[] = [];

  constructor(req: Request, context: RequestContext) {
    this.#req = req;
    this.#context = context;
    this.#sessionAtEntry = expressSessionIdOf(req);
  }

  /** `consent` is asked once a request; a throw counts as no. */
  get consented(): boolean {
    const { consent } = this.#context.config;
    this.#consented ??=
      consent === undefined ||
      this.#ask("consent", (req) => consent(req, this.#everyCookie), "which counts as no") === true;
    return this.#consented;
  }

  /** What the option `isBot` returns. If that is neither true nor false, the User-Agent decides. */
  get isBot(): boolean {
    const { isBot } = this.#context.config;
    const answer = isBot && this.#ask("isBot", isBot, "so the User-Agent decides");
    return typeof answer === "boolean" ? answer : isbot(userAgentOf(this.#req));
  }

  get clickId(): string | undefined {
    if (!this.consented) return undefined;
    this.#clickId ??= this.#cookie(this.#context.config.cookieName);
    return this.#clickId;
  }

  get sessionId(): string | undefined {
    if (!this.consented) return undefined;
    this.#sessionId ??= this.#readSessionId();
    return this.#sessionId;
  }

  snapshot(): Attribution {
    const { clickId, sessionId } = this;
    return { ...(clickId !== undefined && { clickId }), ...(sessionId !== undefined && { sessionId }) };
  }

  /** For hosts that store `req.affiliate` itself: as `{}`, it would attribute no payment. */
  toJSON(): Attribution {
    return this.snapshot();
  }

  setIds({ clickId, sessionId }: Attribution): void {
    this.#clickId = clickId;
    this.#sessionId = sessionId;
  }

  trackClick(click: Click, options?: TrackOptions): Promise<Receipt> {
    return this.report("click", click, options);
  }

  trackRegistration(registration: Registration, options?: TrackOptions): Promise<Receipt> {
    return this.report("registration", registration, options);
  }

  trackPayment(payment: Payment, options?: TrackOptions): Promise<Receipt> {
    return this.report("payment", payment, options);
  }

  async status(): Promise<TrackingStatus | undefined> {
    const { sessionId } = this;
    return sessionId === undefined ? undefined : this.#context.status(sessionId);
  }

  /** `attribution` is what was known when the handler began. */
  report(kind: EventKind, input: unknown, options?: TrackOptions, attribution = this.snapshot()) {
    const { config, track, safeToFreeze } = this.#context;
    this.reportAhead();
    this.#reported.add(kind);
    const reported = track(kind, input, attribution, options, this.consented);
    if (config.waitUntil) {
      this.addPendingWork(async () => {
        const receipt = await reported;
        if (receipt.outcome === "queued") await safeToFreeze(receipt.id);
      });
    }
    return reported;
  }

  /** Keeps a click until `reportAhead`, or until just before anything else is reported. */
  keepAhead(click: Click): void {
    const attribution = this.snapshot();
    // A session that is mounted below is known by then.
    this.#ahead.push(() => void this.report("click", click, {}, { ...this.snapshot(), ...attribution }));
  }

  reportAhead(): void {
    for (const report of this.#ahead.splice(0)) report();
  }

  /** Whether one of this kind was reported, whatever became of it. */
  hasReported(kind: EventKind): boolean {
    return this.#reported.has(kind);
  }

  /** Before it begins, `waitUntil` asks a host that freezes after the response to wait for it. */
  addPendingWork(work: () => Promise<unknown>): void {
    const { waitUntil } = this.#context.config;
    if (!waitUntil) return void work();
    if (!this.#pending) {
      this.#pending = [];
      const done = this.#endOf(this.#pending);
      harmless(
        () => waitUntil(done, this.#req),
        (error) => this.#context.journal.warn("waitUntil", `\`waitUntil\` threw: ${error}`),
      );
    }
    this.#pending.push(work());
  }

  /** Resolves when all work has ended, also work that is added meanwhile. Never rejects. */
  async #endOf(pending: readonly Promise<unknown>[]): Promise<void> {
    // The first work is added in this turn.
    await null;
    for (const work of pending) await Promise.allSettled([work]);
    this.#pending = undefined;
  }

  get #everyCookie(): Request["cookies"] {
    this.#allCookies ??= cookiesOf(this.#req);
    return this.#allCookies;
  }

  /** The id in a cookie. That there is none is kept, too: to look at hundreds of forged ones takes time. */
  #cookie(name: string): string | undefined {
    if (!this.#cookies.has(name)) this.#cookies.set(name, this.#readCookie(name));
    return this.#cookies.get(name);
  }

  #readCookie(name: string): string | undefined {
    const { config, journal } = this.#context;
    if (config.signed) return signedCookie(this.#req, name, config.signed);
    // With the host's signature, a cookie holds no id, whenever cookie-parser has found that out.
    const isSignedByHost = Object.hasOwn(Object(this.#req.signedCookies), name);
    const cookies = isSignedByHost ? Object(this.#req.cookies) : this.#everyCookie;
    const value = (name === config.cookieName && onlyOurs(this.#req, name)) || cookies[name];
    if (isTextOfNothing(value)) journal.noId(`the cookie \`${name}\``, value);
    return isVisitorId(value) ? value : undefined;
  }

  #readSessionId(): string | undefined {
    const { config, journal } = this.#context;
    const { session, sessionCookie } = config;
    if (typeof session === "function") {
      const id = this.#ask("session", session, "so the request has no session id");
      const isIgnored = isTextOfNothing(id) || typeof (id ?? "") !== "string";
      if (isIgnored && !isThenable(id)) journal.noId("what `session` returned", id);
      return isVisitorId(id) ? id : undefined;
    }
    const ofCookie = sessionCookie && this.#cookie(sessionCookie);
    // Signed by express-session, which would take it for a login.
    if (ofCookie && /^s:.+\.[\w+/]{43}$/.test(ofCookie)) return loginSessionId(ofCookie.slice(2, -44));
    return ofCookie ?? (session ? undefined : this.#expressSession());
  }

  /** What a function of the host returns. Logs a throw, and a promise, which is no answer. */
  #ask(option: "consent" | "isBot" | "session", of: (req: Request) => unknown, result: string): unknown {
    const { journal } = this.#context;
    const answer = harmless(
      () => of(this.#req),
      (error) => journal.warn(option, `\`${option}\` threw, ${result}: ${error}`),
    );
    if (isThenable(answer)) {
      journal.once(
        option,
        `\`${option}\` returned a promise, ${result}. Ask in a middleware above, and keep the answer on the request`,
      );
    }
    return answer;
  }

  #expressSession(): string | undefined {
    const id = this.#sessionAtEntry ?? expressSessionIdOf(this.#req);
    const isTheirs = typeof id === "string" && id !== "" && broughtSession(this.#req, id);
    return isTheirs ? loginSessionId(id) : undefined;
  }
}

function expressSessionIdOf(req: Request): unknown {
  return (req as { sessionID?: unknown }).sessionID;
}
