import type { EventKind } from "../../events.js";
import { type CheckResult, note, well } from "../finding.js";
import { timeOf } from "./words.js";

/** One of the events that an outbox has dealt with last. Times are milliseconds since the epoch. */
export interface LastEvent {
  /** 32 hex digits. */
  readonly id: string;
  readonly kind: EventKind;
  /** Known ids are kept of what was delivered and of what a person discarded: the outbox does not tell the two apart. */
  readonly state: "waiting" | "behind" | "under-way" | "dead" | "known";
  /** When it was reported, or when it died or was settled. */
  readonly at: number;
  /** Of one that waits: the time before which it is not tried. */
  readonly until: number | null;
  /** Of a dead one. */
  readonly reason: string | null;
}

/** The newest of them, the last first. */
export function newest(events: readonly LastEvent[], limit: number): readonly LastEvent[] {
  return events.toSorted((one, other) => other.at - one.at).slice(0, limit);
}

/** What the last events were and what became of them, in words. */
export function lastEventsFound(events: readonly LastEvent[], now: number): readonly CheckResult[] {
  if (events.length === 0) return [note("no event was reported yet")];
  return events.map((event) => {
    const says = `${event.kind} ${event.id}: ${fateOf(event, now)}`;
    return event.state === "dead" ? note(says) : well(says);
  });
}

function fateOf({ state, at, until, reason }: LastEvent, now: number): string {
  switch (state) {
    case "known":
      return `delivered, or discarded by hand, ${timeOf(at)}`;
    case "dead":
      return `given up ${timeOf(at)}: ${reason}; \`express-affiliate outbox … list\` says more`;
    case "under-way":
      return `reported ${timeOf(at)}, an attempt is under way`;
    case "behind":
      return `reported ${timeOf(at)}, waits for an earlier event of its visitor`;
    case "waiting":
      return until !== null && until > now
        ? `reported ${timeOf(at)}, waits until ${timeOf(until)}`
        : `reported ${timeOf(at)}, waits for a process that delivers, or for the service`;
  }
}
