import type { DeliveryJournal } from "../delivery/delivery.js";
import { noticeOf } from "../journal/event-notice.js";
import type { EndpointState } from "../journal/notices.js";
import type { Endpoint } from "../service/endpoints.js";

const NAMES = [
  "attempt",
  "delivered",
  "skipped",
  "retry",
  "dead",
  "paused",
  "resumed",
  "refused",
  "unconfirmed",
  "log",
] as const satisfies readonly (keyof DeliveryJournal)[];

/** One call of the journal's: its name, and what it was called with. */
export type Entry = readonly [name: (typeof NAMES)[number], args: readonly unknown[]];

/** What an engine in another thread says of itself. */
export interface EngineReport {
  /** What its journal was told since the last report. */
  readonly entries: readonly Entry[];
  /** Attempts under way. */
  readonly inFlight: number;
  readonly endpoints: Readonly<Record<Endpoint, EndpointState>>;
}

/** Stands in for the journal where that is in another thread. */
export function createRecord(onEntry: () => void) {
  let entries: Entry[] = [];
  let tellsAttempts = false;

  function keep(name: Entry[0]) {
    const entry = (...args: unknown[]) => {
      entries.push([name, args]);
      onEntry();
    };
    return [name, entry] as const;
  }

  const journal = Object.fromEntries(NAMES.map(keep)) as unknown as DeliveryJournal;
  // Of these two there are the most, and a whole event costs both threads twice as much as its notice.
  const briefly = (event: Parameters<DeliveryJournal["delivered"]>[0]) =>
    "data" in event ? noticeOf(event) : event;
  const delivered: DeliveryJournal["delivered"] = (event, ...rest) =>
    journal.delivered(briefly(event), ...rest);
  const attempt: DeliveryJournal["attempt"] = (event, ...rest) => {
    if (tellsAttempts) journal.attempt(briefly(event), ...rest);
  };

  return {
    journal: { ...journal, attempt, delivered },
    /** From here on it keeps attempts too: somebody listens to them. */
    tellAttempts(): void {
      tellsAttempts = true;
    },
    /** What it was told since it was last asked. */
    take(): readonly Entry[] {
      const taken = entries;
      entries = [];
      return taken;
    },
  };
}

/** Tells the journal what was told to the one that stood in for it. */
export function replay(entries: readonly Entry[], journal: DeliveryJournal): void {
  for (const [name, args] of entries) (journal[name] as (...args: readonly unknown[]) => void)(...args);
}
