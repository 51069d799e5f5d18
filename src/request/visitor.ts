import { hash } from "node:crypto";
import type { Request } from "express";
import {
  type Attribution,
  type Click,
  definedOf,
  type EventKind,
  isVisitorId,
  type Payment,
  type Registration,
} from "../events.js";
import type { Journal } from "../journal.js";
import type { Config } from "../options.js";
import type { TrackingStatus } from "../service/client.js";
import type { Clock } from "../shared/clock.js";
import { harmless } from "../shared/harmless.js";
import { shown } from "../shared/printable.js";
import type { Receipt, Track } from "../track.js";
import { broughtSession, visitorCookie } from "./cookies.js";
import { RequestWork } from "./pending-work.js";
import { type RequestSource, requestFrom } from "./request-source.js";

/** The session cookie that `onClick` sets and that is read first: it outlives the session's regeneration at login. */
export const SESSION_COOKIE = "svc_session_id";

/** What a request says of the visitor, and how to report for them. */
export interface RequestAffiliate {
  /** The click that brought the visitor. */
  readonly clickId: string | undefined;
  readonly sessionId: string | undefined;
  /** `{ clickId, sessionId }` as plain JSON, to keep on the user's row and hand back as `attribution` when a payment comes later. */
  snapshot(): Attribution;
  /** Reports a click of this visitor. Never rejects. */
  trackClick(click: Click): Promise<Receipt>;
  /** Reports that this visitor has registered. Never rejects. */
  trackRegistration(registration: Registration): Promise<Receipt>;
  /** Reports that this visitor has paid. Never rejects. */
  trackPayment(payment: Payment): Promise<Receipt>;
  /** What the service knows of this visitor's session (§4.5); `undefined` where there is no session id. Rejects as `client.status` does. */
  status(): Promise<TrackingStatus | undefined>;
}

declare global {
  namespace Express {
    interface Request {
      affiliate?: RequestAffiliate;
    }
  }
}

/** A request whose visitor is known, as wrapped handlers get it. */
export type Attributed<Req extends object = Request> = Req & { affiliate: RequestAffiliate };

export interface AttributionRoom {
  readonly config: Pick<Config, "cookieName" | "session" | "consent" | "waitUntil" | "signed">;
  readonly journal: Journal;
  readonly clock: Clock;
  readonly track: Track;
  readonly visitors: WeakMap<Request, Visitor>;
  /** Resolves when the event was delivered, given up, or is safe in a durable outbox. */
  readonly settled: (id: string) => Promise<void>;
  readonly status: (sessionId: string) => Promise<TrackingStatus>;
}

/** The `req.affiliate` of a request: made once, at the tracker's first contact with it. */
export function affiliateOf(req: Request, room: AttributionRoom): Visitor {
  const present = req.affiliate;
  if (present instanceof Visitor && present.isOf(room)) return present;
  // With two trackers on an app, a handler that one of them wraps reports through that one.
  if (present instanceof Visitor) present.stepAside();
  const visitor = room.visitors.get(req) ?? new Visitor(req, room);
  req.affiliate = visitor;
  return visitor;
}

/** `attributionOf`: what a request says of its visitor, for handlers that are not Express's. Never throws. */
export function createAttributionOf(room: AttributionRoom): (source: RequestSource) => Attribution {
  return function attributionOf(source) {
    const req = harmless(() => requestFrom(source));
    if (!req) {
      room.journal.warn(
        "attributionOf",
        `\`attributionOf\` wants a request or its headers, got ${shown(source)}`,
      );
      return {};
    }
    const present = req.affiliate;
    return present instanceof Visitor && present.isOf(room)
      ? present.snapshot()
      : new Visitor(req, room).snapshot();
  };
}

/**
 * Reads only when asked, and only with consent: session middleware may be mounted later, and most requests report
 * nothing. What it has once found it keeps, whatever becomes of the session.
 */
export class Visitor implements RequestAffiliate {
  readonly #req: Request;
  readonly #room: AttributionRoom;
  // A handler may regenerate the session before anybody asks; the reference is taken now and looked at with consent only.
  readonly #sessionAtEntry: unknown;
  #consented: boolean | undefined;
  #clickId: string | undefined;
  #sessionId: string | undefined;
  #loginSession: string | undefined;
  #work: RequestWork | undefined;

  constructor(req: Request, room: AttributionRoom) {
    this.#req = req;
    this.#room = room;
    this.#sessionAtEntry = expressSessionIdOf(req);
  }

  isOf(room: AttributionRoom): boolean {
    return this.#room === room;
  }

  /** Another tracker has the request now; what was found is kept for when it comes back. */
  stepAside(): void {
    this.#room.visitors.set(this.#req, this);
  }

  get consented(): boolean {
    const { config, journal } = this.#room;
    // Whoever cannot say yes has not said it.
    this.#consented ??=
      harmless(
        () => config.consent(this.#req),
        (error) => journal.warn("consent", `\`consent\` threw, which counts as no: ${error}`),
      ) === true;
    return this.#consented;
  }

  get clickId(): string | undefined {
    if (!this.consented) return undefined;
    const { cookieName, signed } = this.#room.config;
    this.#clickId ??= visitorCookie(this.#req, cookieName, signed);
    return this.#clickId;
  }

  get sessionId(): string | undefined {
    if (!this.consented) return undefined;
    this.#sessionId ??= this.#readSessionId();
    return this.#sessionId;
  }

  /** From here on the visitor is known by these; for `onClick`, which mints them. */
  adopt({ clickId, sessionId }: Required<Attribution>): void {
    this.#clickId = clickId;
    this.#sessionId = sessionId;
  }

  snapshot(): Attribution {
    const { clickId, sessionId } = this;
    return definedOf({ clickId, sessionId });
  }

  trackClick(click: Click): Promise<Receipt> {
    return this.report("click", click);
  }

  trackRegistration(registration: Registration): Promise<Receipt> {
    return this.report("registration", registration);
  }

  trackPayment(payment: Payment): Promise<Receipt> {
    return this.report("payment", payment);
  }

  async status(): Promise<TrackingStatus | undefined> {
    const { sessionId } = this;
    return sessionId === undefined ? undefined : this.#room.status(sessionId);
  }

  /** Reports for this visitor; `attribution` is what was known of them when the handler began. */
  report(kind: EventKind, input: unknown, attribution = this.snapshot()): Promise<Receipt> {
    const { config, track, settled } = this.#room;
    const { clickId, sessionId } = attribution;
    const isLogin = clickId === undefined && sessionId !== undefined && sessionId === this.#loginSession;
    const byLoginSession = isLogin || undefined;
    const { consented } = this;
    const reported = track(kind, input, attribution, { inRequest: true, consented, byLoginSession });
    if (config.waitUntil) {
      this.hold(async () => {
        const receipt = await reported;
        if (receipt.outcome === "queued") await settled(receipt.id);
      });
    }
    return reported;
  }

  /** Does this work, for which a host that would freeze the process after the response is asked to wait, before it begins. */
  hold(work: () => Promise<unknown>): void {
    const { waitUntil } = this.#room.config;
    if (!waitUntil) {
      void work();
      return;
    }
    if (!this.#work || this.#work.isDone) {
      this.#work = new RequestWork();
      const { done } = this.#work;
      harmless(
        () => waitUntil(done, this.#req),
        (error) => this.#room.journal.warn("waitUntil", `\`waitUntil\` threw: ${error}`),
      );
    }
    this.#work.include(work());
  }

  #readSessionId(): string | undefined {
    const { config, journal } = this.#room;
    const { session, signed } = config;
    if (typeof session === "function") {
      const id = harmless(
        () => session(this.#req),
        (error) => journal.warn("session", `\`session\` threw, so the request has no session id: ${error}`),
      );
      return isVisitorId(id) ? id : undefined;
    }
    if (typeof session === "string") return visitorCookie(this.#req, session, signed);
    return visitorCookie(this.#req, SESSION_COOKIE, signed) ?? this.#expressSession();
  }

  #expressSession(): string | undefined {
    const id = this.#sessionAtEntry ?? expressSessionIdOf(this.#req);
    if (typeof id !== "string" || id === "" || !broughtSession(this.#req, id)) return undefined;
    // The id is the key to somebody's login; the service gets something as unique that opens nothing.
    this.#loginSession = hash("sha256", id);
    return this.#loginSession;
  }
}

function expressSessionIdOf(req: Request): unknown {
  return (req as { sessionID?: unknown }).sessionID;
}
