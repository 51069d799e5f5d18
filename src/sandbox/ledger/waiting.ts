import type { EventEmitter } from "node:events";
import { type Entries, type Entry, type Kind, matches } from "./entries.js";

export type LedgerEvents = EventEmitter<{ entry: [Entry]; clear: []; close: [] }>;

/** The next entry with those fields. `seen` is called for a timeout's message. */
export function nextEntry<K extends Kind>(
  events: LedgerEvents,
  { kind, where }: { kind: K; where: object },
  timeoutMs: number,
  seen: () => Entry[],
): Promise<Entries[K]> {
  const subject = `sandbox: no ${kind} with ${JSON.stringify(where)} came`;

  return new Promise(function await_(resolve, reject) {
    const timer = setTimeout(onTimeout, timeoutMs);
    events.on("entry", onEntry).on("close", onClose);

    function onEntry(entry: Entry) {
      if (entry.kind === kind && matches(entry, where)) settle(() => resolve(entry as Entries[K]));
    }
    function onTimeout() {
      const came = seen().map((entry) => `\n  ${JSON.stringify(entry)}`);
      const instead = came.length > 0 ? `the ledger has:${came.join("")}` : `the ledger has no ${kind}`;
      settle(() => reject(new Error(`${subject} within ${timeoutMs} ms; ${instead}`)));
    }
    function onClose() {
      settle(() => reject(new Error(`${subject} before the sandbox was closed`)));
    }
    function settle(how: () => void) {
      clearTimeout(timer);
      events.off("entry", onEntry).off("close", onClose);
      how();
    }
  });
}
