import { dueIn, type OutboxCounts } from "../../outbox/counts.js";
import type { LastEvent } from "../../outbox/queue/last-events.js";
import { countOf, type Finding, note, timeOf, well, wrong } from "../finding.js";

// Chosen: docs/observability.md recommends an alert at this age.
const LONG_MS = 60 * 60 * 1_000;

/** What is in an outbox, in words. `clientId`: whose events are meant to wait; absent: anybody's. */
export function findingsOf(counts: OutboxCounts, clientId?: number): Finding[] {
  const { oldest, dead, byDestination = {}, trouble } = counts;
  const destinations = Object.entries(byDestination).filter(([, count]) => count > 0);
  const reasons = Object.entries(dead).filter(([, count]) => count > 0);
  const letters = reasons.reduce((sum, [, count]) => sum + count, 0);
  const list = reasons.map(([reason, count]) => `${count} ${reason}`).join(", ");
  return [
    waiting(dueIn(counts), oldest),
    ...scheduledIn(counts).lines,
    // Each needs a process that delivers.
    ...destinations.map(([destination, count]) =>
      (destination === String(clientId ?? destination) ? well : note)(
        `${countOf(count, "event")} for client id ${destination}`,
      ),
    ),
    letters === 0 ? NO_LETTERS : note(`${countOf(letters, "dead letter")}: ${list}`),
    ...(trouble === undefined ? [] : [wrong(trouble)]),
  ];
}

export const NO_LETTERS = well("no dead letters");

function waiting(queued: number, oldest: number | null): Finding {
  if (queued === 0 || oldest === null) return well("nothing waits");
  const says = `${countOf(queued, "event")} queued, the oldest since ${timeOf(oldest)}`;
  return Date.now() - oldest < LONG_MS ? well(says) : note(`${says}: read the log of the host's own process`);
}

/** The payments that wait for their `notBefore`: for `--json`, and in words. */
export function scheduledIn({ scheduled: { count, next } = { count: 0, next: null } }: OutboxCounts) {
  return {
    scheduled: { count, nextInMs: next === null ? null : Math.max(0, next - Date.now()) },
    lines:
      next === null
        ? []
        : [well(`${countOf(count, "payment")} scheduled by \`notBefore\`, the first for ${timeOf(next)}`)],
  };
}

const FATES = {
  known: "delivered, cancelled, erased or discarded",
  "under-way": "an attempt is under way",
  behind: "waits for an earlier event of its visitor",
  waiting: "waits for a process that delivers, or for the service",
};

/** What became of the events reported last. */
export function lastEventsFound(events: readonly LastEvent[]): readonly Finding[] {
  if (events.length === 0) return [note("no event was reported yet")];
  return events.map(({ id, kind, state, at, until, reason }) => {
    if (state === "dead") return note(`${kind} ${id}: given up ${timeOf(at)}: ${reason}`);
    const isLater = state === "waiting" && until !== null && until > Date.now();
    const fate = isLater ? `waits until ${timeOf(until)}` : FATES[state];
    return well(`${kind} ${id}: reported ${timeOf(at)}, ${fate}`);
  });
}
