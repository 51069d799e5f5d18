import type { OutboxEvent } from "../events.js";
import { rowOf } from "../kinds.js";
import type { ConfirmReferral } from "../outbox/remote.js";
import { type Answer, type Attempt, unsendable } from "../service/attempt.js";
import type { Call, Calls } from "../service/calls.js";
import type { Transport } from "../service/transport.js";
import { errorFrom } from "../shared/errors.js";
import { probeMs, REFERRAL_WAIT_MS } from "./when-again.js";

/** What the status endpoint says of an event's visitor. */
export type Referral =
  | { readonly type: "referred" }
  | { readonly type: "not-referred" }
  /** It does not answer this question, or not to this caller. */
  | { readonly type: "unanswered"; readonly attempt: Attempt }
  /** It may answer later, or this visitor's question cannot be asked at all. */
  | { readonly type: "later"; readonly attempt: Attempt }
  /** It did not answer a moment ago, and is not asked for so many milliseconds. */
  | { readonly type: "not-asked"; readonly forMs: number };

const LATER = new Set([408, 425, 429]);

/**
 * Asks the status endpoint (§4.5) whether an affiliate referred an event's visitor, so that the address of a customer whom no
 * affiliate referred is not sent. The question contains the session id and nothing else.
 *
 * @param mode `login-session`: of a visitor who is known by a login session alone, which every customer has.
 * @param bodyMs how long the body of an answer is waited for, in milliseconds.
 */
export class ReferralCheck {
  readonly #transport: Pick<Transport, "send">;
  readonly #calls: Calls;
  readonly #mode: ConfirmReferral;
  readonly #bodyMs: number;
  /** Since when the endpoint has not answered, and until when it is not asked, by the clock of `ask`. */
  #failing: { readonly since: number; readonly until: number } | undefined;

  constructor(options: {
    transport: Pick<Transport, "send">;
    calls: Calls;
    mode: ConfirmReferral;
    bodyMs: number;
  }) {
    this.#transport = options.transport;
    this.#calls = options.calls;
    this.#mode = options.mode;
    this.#bodyMs = options.bodyMs;
  }

  isDue({ kind, data }: OutboxEvent): boolean {
    // A click comes before any referral.
    if (!rowOf(kind).needsAttribution || data.sessionId === undefined || this.#mode === "never") return false;
    return this.#mode === "always" || (data.byLoginSession === true && data.clickId === undefined);
  }

  /** @param now tells the time, in milliseconds since any moment. */
  async ask({ data }: OutboxEvent, now: () => number): Promise<Referral> {
    let call: Call;
    try {
      call = this.#calls.status(data.sessionId as string);
    } catch (error) {
      return { type: "later", attempt: unsendable(errorFrom(error)) };
    }
    const began = now();
    if (this.#failing && began < this.#failing.until) {
      return { type: "not-asked", forMs: Math.min(this.#failing.until - began, REFERRAL_WAIT_MS) };
    }
    const before = this.#failing;
    const since = before?.since ?? began;
    // One question at a time tries whether it answers again.
    if (before) this.#failing = { since, until: Number.POSITIVE_INFINITY };
    let attempt: Attempt;
    try {
      attempt = await this.#transport.send(call, { bodyMs: this.#bodyMs });
    } catch (error) {
      // It says nothing of the endpoint.
      this.#failing = before;
      throw error;
    }
    if (!isAnswered(attempt)) {
      this.#failing = { since, until: now() + probeMs(now() - since) };
      return { type: "later", attempt };
    }
    this.#failing = undefined;
    const { status, body } = attempt;
    if (status === 404) return { type: "not-referred" };
    if (status >= 300) return { type: "unanswered", attempt };
    const { hasAffiliate } = Object(body) as { hasAffiliate?: unknown };
    if (typeof hasAffiliate !== "boolean") return { type: "unanswered", attempt };
    return { type: hasAffiliate ? "referred" : "not-referred" };
  }
}

/** Whether the service has decided on the question. A body that breaks off decides nothing. */
function isAnswered(attempt: Attempt): attempt is Answer {
  if (attempt.type !== "answer" || attempt.status >= 500 || LATER.has(attempt.status)) return false;
  return !(attempt.isCut && attempt.status < 300 && attempt.body === undefined);
}
