import type { Request } from "express";
import type { Config } from "../config.js";
import type { Click } from "../conversion/click.js";
import type { EventKind } from "../conversion/events.js";
import type { Payment } from "../conversion/payment.js";
import type { Registration } from "../conversion/registration.js";
import type { Attribution } from "../conversion/visitor-ids.js";
import type { TrackingStatus } from "../service/answers.js";
import type { Clock } from "../shared/clock.js";
import { harmless } from "../shared/harmless.js";
import { shown } from "../shared/printable.js";
import type { Receipt, Track, TrackOptions } from "../track.js";
import { type AttributionContext, RequestAttribution } from "./attribution.js";
import { getAffiliate, type ReferenceWatch, setAffiliate, watchUnseen } from "./host-mistakes.js";
import { PendingWork } from "./pending-work.js";
import { type RequestSource, requestFrom } from "./request-source.js";

/** What the tracker adds to a request: the visitor's ids, and functions that report for them. */
export interface RequestAffiliate {
  /** The id of the click that brought the visitor (§1); `undefined` if none, or no consent. */
  readonly clickId: string | undefined;
  /** The visitor's session id (§1); `undefined` if none, or no consent. */
  readonly sessionId: string | undefined;
  /**
   * `{ clickId, sessionId }` as plain JSON, to keep on the user's row and give back as
   * `attribution` with a later payment.
   *
   * @example
   * ```js
   * await users.update(user.id, { affiliate: req.affiliate.snapshot() });
   * ```
   */
  snapshot(): Attribution;
  /** Reports a click of this visitor (§4.1). Never rejects: see the receipt. */
  trackClick(click: Click, options?: TrackOptions): Promise<Receipt>;
  /** Reports that this visitor has registered (§4.2, §4.3). Never rejects: see the receipt. */
  trackRegistration(registration: Registration, options?: TrackOptions): Promise<Receipt>;
  /** Reports that this visitor has paid (§4.4). Never rejects: see the receipt. */
  trackPayment(payment: Payment, options?: TrackOptions): Promise<Receipt>;
  /**
   * What the service knows of this visitor's session (§4.5); `undefined` without a session id, and
   * if the tracker is not `enabled`.
   * Rejects as `client.status` does.
   */
  status(): Promise<TrackingStatus | undefined>;
}

declare global {
  namespace Express {
    interface Request {
      affiliate?: RequestAffiliate;
    }
  }
}

/** A request whose `affiliate` is set, as wrapped handlers get it. */
export type Attributed<Req extends object = Request> = Req & { affiliate: RequestAffiliate };

export interface RequestContext extends AttributionContext {
  readonly config: AttributionContext["config"] & Pick<Config, "waitUntil" | "isBot">;
  readonly clock: Clock;
  readonly track: Track;
  /** This tracker's visitors whose `req.affiliate` now belongs to another tracker. */
  readonly visitors: WeakMap<Request, Visitor>;
  /** Resolves when a process may freeze without losing the event. */
  readonly safeToFreeze: (id: string) => Promise<void>;
  readonly status: (sessionId: string) => Promise<TrackingStatus | undefined>;
  readonly references: ReferenceWatch;
  /** Whether a response waits until its payment is stored: see handled-response.ts. */
  readonly holds: () => boolean;
}

/** Makes `req.affiliate` when the tracker first sees the request. */
export function affiliateOf(req: Request, context: RequestContext): Visitor {
  const present = getAffiliate(req);
  if (present instanceof Visitor && present.isOf(context)) return present;
  watchUnseen(req, context.journal);
  // If an app has two trackers, a wrapped handler reports through the tracker that wraps it.
  if (present instanceof Visitor) present.keepForItsTracker();
  const visitor = context.visitors.get(req) ?? new Visitor(req, context);
  setAffiliate(req, visitor);
  return visitor;
}

/** `attributionOf`, for handlers that are not Express's. Never throws. */
export function createAttributionOf(context: RequestContext): (source: RequestSource) => Attribution {
  return function attributionOf(source) {
    const req = harmless(() => requestFrom(source));
    if (!req) {
      context.journal.warn(
        "attributionOf",
        `\`attributionOf\` wants a request or its headers, got ${shown(source)}`,
      );
      return {};
    }
    const present = getAffiliate(req);
    return present instanceof Visitor && present.isOf(context)
      ? present.snapshot()
      : new RequestAttribution(req, context).snapshot();
  };
}

/** The visitor of one request, as one tracker knows them, and what is reported of them. */
export class Visitor extends RequestAttribution implements RequestAffiliate {
  readonly #req: Request;
  readonly #context: RequestContext;
  #pending: PendingWork | undefined;
  #reported: Set<EventKind> | undefined;
  #ahead: (() => void)[] | undefined;

  constructor(req: Request, context: RequestContext) {
    super(req, context);
    this.#req = req;
    this.#context = context;
  }

  isOf(context: RequestContext): boolean {
    return this.#context === context;
  }

  /** Keeps this visitor while another tracker takes `req.affiliate`. */
  keepForItsTracker(): void {
    this.#context.visitors.set(this.#req, this);
  }

  /** For hosts that store `req.affiliate` itself: as `{}`, it would attribute no payment. */
  toJSON(): Attribution {
    return this.snapshot();
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
  report(
    kind: EventKind,
    input: unknown,
    options?: TrackOptions,
    attribution = this.snapshot(),
  ): Promise<Receipt> {
    const { config, track, safeToFreeze } = this.#context;
    this.#reportAhead();
    this.#reported ??= new Set();
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

  /** Reports it when the returned function is called, or just before anything else. */
  reportLater(kind: EventKind, input: unknown): () => void {
    const attribution = this.snapshot();
    this.#ahead ??= [];
    this.#ahead.push(() => void this.report(kind, input, {}, attribution));
    return () => this.#reportAhead();
  }

  #reportAhead(): void {
    for (const report of this.#ahead?.splice(0) ?? []) report();
  }

  /** Whether one of this kind was reported, whatever became of it. */
  hasReported(kind: EventKind): boolean {
    return this.#reported?.has(kind) ?? false;
  }

  /** Before it begins, `waitUntil` asks a host that freezes after the response to wait for it. */
  addPendingWork(work: () => Promise<unknown>): void {
    const { waitUntil } = this.#context.config;
    if (!waitUntil) {
      void work();
      return;
    }
    if (!this.#pending || this.#pending.isDone) {
      this.#pending = new PendingWork();
      const { done } = this.#pending;
      harmless(
        () => waitUntil(done, this.#req),
        (error) => this.#context.journal.warn("waitUntil", `\`waitUntil\` threw: ${error}`),
      );
    }
    this.#pending.include(work());
  }
}
