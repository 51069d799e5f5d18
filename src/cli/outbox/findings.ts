import { dueIn, type ScheduledCount } from "../../outbox/counts.js";
import type { OutboxCounts } from "../../outbox/outbox.js";
import type { LastEvent } from "../../outbox/queue/last-events.js";
import { type CheckResult, note, well, wrong } from "../finding.js";
import { countOf, spanOf, timeOf } from "./words.js";

// Chosen: docs/observability.md recommends an alert at this age.
const LONG_MS = 60 * 60 * 1_000;

export const NONE_SCHEDULED: ScheduledCount = { count: 0, next: null };

/** What is in an outbox, in words. `clientId`: whose events are meant to wait; absent: anybody's. */
export function findingsOf(counts: OutboxCounts, clientId?: number): CheckResult[] {
  const { oldest, dead, byDestination = {}, trouble, scheduled = NONE_SCHEDULED } = counts;
  const { count, list } = summaryOf(dead);
  return [
    waiting(dueIn(counts), oldest),
    ...scheduledFindings(scheduled),
    ...destinations(byDestination, clientId),
    count === 0 ? well("no dead letters") : note(`${countOf(count, "dead letter")}: ${list}`),
    ...(trouble === undefined ? [] : [wrong(trouble)]),
  ];
}

export function ageOf(time: number): number {
  return Math.max(0, Date.now() - time);
}

export function scheduledFindings({ count, next }: ScheduledCount): CheckResult[] {
  if (next === null) return [];
  return [well(`${countOf(count, "payment")} scheduled by \`notBefore\`, the first for ${timeOf(next)}`)];
}

export function scheduledAsJson({ count, next }: ScheduledCount) {
  return { count, nextInMs: next === null ? null : Math.max(0, next - Date.now()) };
}

function waiting(queued: number, oldest: number | null): CheckResult {
  if (queued === 0 || oldest === null) return well("nothing waits");
  const oldestMs = ageOf(oldest);
  const says = `${countOf(queued, "event")} queued, the oldest for ${spanOf(oldestMs)}, since ${timeOf(oldest)}`;
  return oldestMs < LONG_MS ? well(says) : note(`${says}: read the log of the host's own process`);
}

/** Each client id for which events wait needs a process that delivers. */
function destinations(
  byDestination: Readonly<Record<string, number>>,
  clientId: number | undefined,
): CheckResult[] {
  const counted = Object.entries(byDestination).filter(([, count]) => count > 0);
  const isExpected = counted.length === 1 && clientId === undefined;
  return counted.map(([destination, count]) =>
    (isExpected || destination === String(clientId) ? well : note)(
      `${countOf(count, "event")} for client id ${destination}`,
    ),
  );
}

/** The number of dead letters, and how many for each reason. */
export function summaryOf(dead: Readonly<Record<string, number>>): { count: number; list: string } {
  const reasons = Object.entries(dead).filter(([, count]) => count > 0);
  return {
    count: reasons.reduce((sum, [, each]) => sum + each, 0),
    list: reasons.map(([reason, each]) => `${each} ${reason}`).join(", "),
  };
}

/** What became of the events reported last. */
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
