import type { OutboxEvent } from "../conversion/events.js";
import type { Endpoint } from "../service/endpoints.js";
import type { Death } from "./dead-letters.js";

/** What attempts at an event have taught: plain JSON, stored unchanged, for the next claim. */
export interface History {
  /** How many attempts were made. */
  readonly attempts: number;
  /** How many failed while their endpoint was not paused: the event rests longer for each. */
  readonly failures: number;
  /** How often it was refused while other visitors' events were taken. */
  readonly refusals: number;
  /** Whether the service has asked for a pause in answer to it. */
  readonly throttled: boolean;
  /** Whether the service may have taken it. */
  readonly maybeTaken: boolean;
  /** When the last attempt ended, in milliseconds since the epoch; 0 if there was none. */
  readonly triedAt: number;
}

/** The history of an event that was never tried. */
export const UNTRIED: History = Object.freeze({
  attempts: 0,
  failures: 0,
  refusals: 0,
  throttled: false,
  maybeTaken: false,
  triedAt: 0,
});

/** What an attempt means for the outbox. */
export type Verdict =
  /** The service has it: forget the event, remember its id. */
  | {
      readonly type: "delivered";
      /** The service's number for a registration or payment. An outbox need not keep it. */
      readonly leadId?: number;
      /** The service must not get it: it was not sent. */
      readonly isSkipped?: boolean;
    }
  /** Send it again in `inMs`, with this history. The visitor's later events wait for it. */
  | { readonly type: "retry"; readonly inMs: number; readonly history: History; readonly because?: string }
  /** No attempt was made: send it later, as it was. */
  | { readonly type: "release" }
  /** Keep it as a dead letter, not tried unless the host asks. The visitor's next event passes. */
  | ({ readonly type: "dead" } & Death);

/** Events of one endpoint that may be sent now. */
export interface Lane {
  /** The endpoint that they go to. */
  readonly endpoint: Endpoint;
  /** How many at most. */
  readonly limit: number;
  /** Untried ones newest first, by when each became its visitor's next. Default: oldest first. */
  readonly newestFirst?: boolean;
  /**
   * Only untried events that have been their visitor's next for at most so many milliseconds; anew
   * when an event's urgency rises.
   */
  readonly newWithinMs?: number;
}

/** What may be sent at this moment. */
export interface Capacity {
  /** How many in all. May be infinite, as that of a lane. */
  readonly limit: number;
  /** Of equally urgent events, those of an earlier lane go first. Urgency comes before lanes. */
  readonly lanes: readonly Lane[];
}

/** An event whose turn it is, taken out of the outbox for one attempt. */
export interface Claim {
  /** What happened. */
  readonly event: OutboxEvent;
  /** The lane that it was claimed for. */
  readonly lane: Lane;
  /** What earlier attempts have taught. */
  readonly history: History;
  /**
   * Whether its process died during an attempt, whose end is unknown. `release` keeps it, `retry`
   * clears it.
   */
  readonly interrupted: boolean;
  /** Since when it waits, in milliseconds since the epoch: it happened, or was retried by hand. */
  readonly queuedAt: number;
  /**
   * False before another process may take the event: asked just before the request leaves. Omit it
   * if that cannot happen.
   */
  isHeld?(): boolean;
}

/** Sends events to the service. None of its methods throws. */
export interface Deliver {
  /** Which events may be sent at this moment. */
  capacity(): Capacity;
  /** Makes one attempt. Never rejects. */
  deliver(claim: Claim): Promise<Verdict>;
  /** Call it once a verdict is acted on: then listeners are called. `attempts`: as claimed. */
  settled(event: OutboxEvent, attempts: number, verdict: Verdict): void;
}
