import type { Request } from "express";
import type { Click } from "../conversion/click.js";
import type { Payment } from "../conversion/payment.js";
import type { Registration } from "../conversion/registration.js";
import type { Attribution } from "../conversion/visitor-ids.js";
import type { TrackingStatus } from "../service/answers.js";
import type { Receipt, TrackOptions } from "../track.js";

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
