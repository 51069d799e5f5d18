import type { DeliveryJournal } from "../delivery/attempts.js";
import { noticeOf } from "../journal/event-notice.js";
import { JOURNAL_CALLS, type JournalCall } from "../outbox/remote.js";

/** Records calls of a journal that is in another thread. */
export function createJournalRecorder(onEntry: () => void) {
  let entries: JournalCall[] = [];
  let recordsAttempts = false;

  function recording(name: JournalCall[0]) {
    const entry = (...args: unknown[]) => {
      entries.push([name, args]);
      onEntry();
    };
    return [name, entry] as const;
  }

  const journal = Object.fromEntries(JOURNAL_CALLS.map(recording)) as unknown as DeliveryJournal;
  // The two most frequent calls: a whole event costs twice as much to post as its notice.
  const delivered: DeliveryJournal["delivered"] = (event, ...rest) =>
    journal.delivered(noticeOf(event), ...rest);
  const attempt: DeliveryJournal["attempt"] = (event, ...rest) => {
    if (recordsAttempts) journal.attempt(noticeOf(event), ...rest);
  };

  return {
    journal: { ...journal, attempt, delivered },
    /** A listener wants attempts: from now on they are recorded too. */
    recordAttempts(): void {
      recordsAttempts = true;
    },
    /** The calls since it was last asked. */
    take(): readonly JournalCall[] {
      const taken = entries;
      entries = [];
      return taken;
    },
  };
}

export function replay(entries: readonly JournalCall[], journal: DeliveryJournal): void {
  for (const [name, args] of entries) (journal[name] as (...args: readonly unknown[]) => void)(...args);
}
