import type { DeliveryJournal } from "../delivery/delivery.js";
import { noticeOf } from "../journal/event-notice.js";
import type { EndpointState } from "../journal/notices.js";
import type { Endpoint } from "../service/endpoints.js";

const CALLS = [
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

/** One call of a journal method: its name and its arguments. */
export type JournalCall = readonly [name: (typeof CALLS)[number], args: readonly unknown[]];

/** The report of an engine in another thread. */
export interface EngineReport {
  /** The calls of its journal since the last report. */
  readonly entries: readonly JournalCall[];
  /** Attempts under way. */
  readonly inFlight: number;
  readonly endpoints: Readonly<Record<Endpoint, EndpointState>>;
}

/** Records calls of the journal, which is in another thread. */
export function createRecord(onEntry: () => void) {
  let entries: JournalCall[] = [];
  let tellsAttempts = false;

  function keep(name: JournalCall[0]) {
    const entry = (...args: unknown[]) => {
      entries.push([name, args]);
      onEntry();
    };
    return [name, entry] as const;
  }

  const journal = Object.fromEntries(CALLS.map(keep)) as unknown as DeliveryJournal;
  // These two calls are the most frequent, and posting a whole event costs twice as much as posting its notice.
  const briefly = (event: Parameters<DeliveryJournal["delivered"]>[0]) =>
    "data" in event ? noticeOf(event) : event;
  const delivered: DeliveryJournal["delivered"] = (event, ...rest) =>
    journal.delivered(briefly(event), ...rest);
  const attempt: DeliveryJournal["attempt"] = (event, ...rest) => {
    if (tellsAttempts) journal.attempt(briefly(event), ...rest);
  };

  return {
    journal: { ...journal, attempt, delivered },
    /** Records attempts too, from now on: somebody listens to them. */
    tellAttempts(): void {
      tellsAttempts = true;
    },
    /** The calls since it was last asked. */
    take(): readonly JournalCall[] {
      const taken = entries;
      entries = [];
      return taken;
    },
  };
}

/** Makes the recorded calls on the journal. */
export function replay(entries: readonly JournalCall[], journal: DeliveryJournal): void {
  for (const [name, args] of entries) (journal[name] as (...args: readonly unknown[]) => void)(...args);
}
