import type { DeliveryJournal } from "../delivery/attempts.js";
import { noticeOf } from "../journal/event-notice.js";
import { JOURNAL_CALLS, type JournalCall } from "../outbox/remote.js";

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

  const journal = Object.fromEntries(JOURNAL_CALLS.map(keep)) as unknown as DeliveryJournal;
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
