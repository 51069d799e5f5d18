import type { LastEvent } from "../../outbox/queue/last-events.js";
import { type CheckResult, note, well } from "../finding.js";
import { timeOf } from "./words.js";

export type { LastEvent };

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
      return `reported ${timeOf(at)}; delivered, cancelled, erased or discarded`;
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
