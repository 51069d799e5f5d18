import { eventFrom, hostIdIn } from "./conversion/event-from.js";
import { type EventKind, notBeforeOf, type OutboxEvent } from "./conversion/events.js";
import type { InvalidInput } from "./conversion/kind-row.js";
import { rowOf } from "./conversion/kinds.js";
import { createPseudonyms } from "./conversion/pseudonyms.js";
import type { Attribution } from "./conversion/visitor-ids.js";
import type { Journal } from "./journal/journal.js";
import type { DropReason, SkipReason } from "./journal/notices.js";
import type { Outbox } from "./outbox/outbox.js";
import { randomIdempotencyKey } from "./service/idempotency.js";
import type { Clock } from "./shared/clock.js";
import { errorFrom } from "./shared/errors.js";
import { namedAs } from "./shared/printable.js";
import type { Secret } from "./shared/secret.js";

/**
 * What became of a report.
 *
 * - `queued`: the outbox has it, as durably as it stores.
 * - `duplicate`: it was reported before; `id` is the first report's.
 * - `skipped`: it is not reported, for this reason.
 * - `rejected`: it is lost; `stats().dropped` counts it, and the log says why.
 */
export type Receipt =
  | {
      readonly outcome: "queued";
      readonly id: string;
      /** The storage fails (`stats().trouble`): the event waits in memory, and is stored later. */
      readonly reason?: "storage-trouble";
    }
  | { readonly outcome: "duplicate"; readonly id: string }
  | { readonly outcome: "skipped"; readonly reason: SkipReason }
  | { readonly outcome: "rejected"; readonly reason: DropReason };

/** The options of `trackClick`, `trackRegistration` and `trackPayment`. */
export interface TrackOptions {
  /**
   * The host's own database transaction: the event is reported if and only if it commits. An outbox
   * that cannot take part makes the receipt `rejected`; `postgresOutbox` and `mysqlOutbox` can.
   */
  readonly transaction?: unknown;
  /**
   * Sends a payment without click id and session id: the service looks for the customer by the
   * address. Default `false`: it is skipped as `no-attribution`, because a visitor without consent
   * leaves no ids. A registration without ids is always skipped: no endpoint takes it.
   */
  readonly matchByEmail?: boolean | undefined;
}

export type Track = (
  kind: EventKind,
  input: unknown,
  attribution: Attribution | InvalidInput,
  options?: TrackOptions,
  consented?: boolean,
) => Promise<Receipt>;

/**
 * Makes an event of what a host reports, and adds it to the outbox. Never rejects: see the receipt.
 */
export function createTrack(parts: {
  clientId: number;
  /** Delivery derives each event's `Idempotency-Key` from it. Without one, an event keeps its own. */
  apiKey: Secret | undefined;
  enabled: boolean;
  outbox: Outbox;
  journal: Journal;
  clock: Clock;
  isClosed: () => boolean;
}): Track {
  const { clientId, apiKey, enabled, outbox, journal, clock, isClosed } = parts;

  const pseudonym = apiKey && createPseudonyms(apiKey.reveal());

  return async function track(kind, input, attribution, options, consented = true) {
    function skip(reason: SkipReason): Receipt {
      journal.skipped(kind, reason);
      return { outcome: "skipped", reason };
    }

    function drop(reason: DropReason, message: string, event?: OutboxEvent): Receipt {
      journal.dropped(kind, reason, event ? { message, event } : { message, hostId: hostIdIn(input) });
      return { outcome: "rejected", reason };
    }

    const { matchByEmail, transaction }: TrackOptions = Object(options);
    if (!enabled) return skip("disabled");
    if (!consented) return skip("consent");
    const wrongOption = problemWith(options);
    if (wrongOption) return drop("invalid", wrongOption);
    if ("invalid" in attribution) return drop("invalid", attribution.invalid);
    if (!hasNeededId(kind, attribution, matchByEmail)) return skip("no-attribution");
    if (isClosed()) return drop("closed", "the tracker is closed");

    const now = clock.now();
    const event = eventFrom(kind, input, attribution, {
      ...{ clientId, now, pseudonym, idempotencyKey: apiKey ? undefined : randomIdempotencyKey() },
      onUnknown: (names) => journal.notSent(kind, names),
      onNoId: (name, id) => journal.noId(`the \`${name}\` of a ${kind}`, id),
    });
    if ("skip" in event && event.skip) return skip(event.skip);
    if ("invalid" in event) return drop("invalid", event.invalid);
    try {
      const added = await outbox.add(event, { transaction });
      if (added === "full") return drop("full", `the ${outbox.name} outbox is full`, event);
      if (added === "duplicate") {
        journal.duplicate(event);
        return { outcome: "duplicate", id: event.id };
      }
      journal.queued(event, (notBeforeOf(event) ?? 0) > now);
      return {
        outcome: "queued",
        id: event.id,
        ...(added === "in-memory" && { reason: "storage-trouble" }),
      };
    } catch (error) {
      return drop("outbox", `the ${outbox.name} outbox did not take the event: ${errorFrom(error)}`, event);
    }
  };
}

const OPTIONS: readonly string[] = ["transaction", "matchByEmail"] satisfies (keyof TrackOptions)[];

/** An option that is not read could lose the event with its transaction, or for want of an id. */
function problemWith(options: unknown): string | undefined {
  const wrong = Object.keys(Object(options)).find((name) => !OPTIONS.includes(name));
  if (wrong === undefined) return undefined;
  if (wrong === "clickId" || wrong === "sessionId")
    return "`req.affiliate` reports with its visitor's ids; with others, call the function of the tracker";
  return `${namedAs(wrong)} is no option of a report; there are ${OPTIONS.map(namedAs).join(" and ")}`;
}

function hasNeededId(kind: EventKind, { clickId, sessionId }: Attribution, matchByEmail = false): boolean {
  const { needsVisitorId } = rowOf(kind);
  if (needsVisitorId === "never" || clickId !== undefined || sessionId !== undefined) return true;
  return needsVisitorId === "unless-by-email" && matchByEmail === true;
}
