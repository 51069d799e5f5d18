import { type Attribution, type EventKind, eventFrom, type InvalidInput } from "./events.js";
import type { DropReason, Journal, SkipReason } from "./journal.js";
import type { Outbox } from "./outbox/outbox.js";
import type { Clock } from "./shared/clock.js";

/** What became of a report. `queued`: as durable as the outbox makes it. */
export type Receipt =
  | {
      readonly outcome: "queued";
      readonly id: string;
      /** Not stored yet: the outbox's storage is in trouble (`stats().trouble`), and the event waits in memory meanwhile. */
      readonly reason?: "storage-trouble";
    }
  /** Reported before; `id` is the first report's. */
  | { readonly outcome: "duplicate"; readonly id: string }
  | { readonly outcome: "skipped"; readonly reason: SkipReason }
  | { readonly outcome: "rejected"; readonly reason: DropReason };

export interface Circumstances {
  /** A request without attribution is somebody whom nobody referred, and whose address stays home. */
  readonly inRequest?: boolean;
  readonly consented?: boolean;
  /** The visitor is known by a login session alone. */
  readonly byLoginSession?: true | undefined;
  /** The host's own database transaction, to take part in. */
  readonly transaction?: unknown;
}

export type Track = (
  kind: EventKind,
  input: unknown,
  attribution: Attribution | InvalidInput,
  circumstances?: Circumstances,
) => Promise<Receipt>;

export interface TrackerParts {
  readonly clientId: number;
  readonly enabled: boolean;
  readonly outbox: Outbox;
  readonly journal: Journal;
  readonly clock: Clock;
  readonly isClosed: () => boolean;
}

/** From a host's word to an event in the outbox. Never rejects, and the receipt says which way it went. */
export function createTrack({ clientId, enabled, outbox, journal, clock, isClosed }: TrackerParts): Track {
  function skip(kind: EventKind, reason: SkipReason): Receipt {
    journal.skipped(kind, reason);
    return { outcome: "skipped", reason };
  }

  function drop(kind: EventKind, reason: DropReason, message?: string): Receipt {
    journal.dropped(kind, reason, message === undefined ? {} : { message });
    return { outcome: "rejected", reason };
  }

  return async function track(kind, input, attribution, circumstances = {}) {
    const { inRequest = false, consented = true, byLoginSession, transaction } = circumstances;
    if (!enabled) return skip(kind, "disabled");
    if (!consented) return skip(kind, "consent");
    if ("invalid" in attribution) return drop(kind, "invalid", attribution.invalid);
    if (!isReferred(kind, attribution, inRequest)) return skip(kind, "no-attribution");
    if (isClosed()) return drop(kind, "closed", "the tracker is closed");

    const event = eventFrom(kind, input, attribution, { clientId, now: clock.now(), byLoginSession });
    if ("skip" in event && event.skip) return skip(kind, event.skip);
    if ("invalid" in event) return drop(kind, "invalid", event.invalid);
    try {
      const outcome = await outbox.add(event, { transaction });
      if (outcome === "full") return drop(kind, "full", `the ${outbox.name} outbox is full`);
      if (outcome === "duplicate") {
        journal.duplicate();
        return { outcome, id: event.id };
      }
      journal.queued(event);
      return {
        outcome: "queued",
        id: event.id,
        ...(outcome === "in-memory" && { reason: "storage-trouble" }),
      };
    } catch (error) {
      return drop(kind, "outbox", `the ${outbox.name} outbox did not take it: ${error}`);
    }
  };
}

function isReferred(kind: EventKind, { clickId, sessionId }: Attribution, inRequest: boolean): boolean {
  if (clickId !== undefined || sessionId !== undefined || kind === "click") return true;
  // Without ids there is no endpoint for a registration; a payment outside a request may be known by its customer.
  return kind === "payment" && !inRequest;
}
