import { errorFrom } from "../../shared/errors.js";
import { type CheckResult, note, well, wrong } from "../finding.js";
import type { OutboxLocation } from "../outbox/arguments.js";
import { findingsOf, lastEventsFound } from "../outbox/findings.js";
import { openOutboxAt, problemAt } from "../outbox/open.js";

/** How many events `--last` shows. */
export const LAST = 5;

/**
 * Whether there is an outbox, of this version, that takes writes, and what waits in it. Changes
 * nothing.
 *
 * @param showsLast whether to say what became of the last events.
 */
export async function* checkOutbox(
  location: OutboxLocation,
  clientId: number | undefined,
  showsLast: boolean,
): AsyncGenerator<CheckResult> {
  try {
    const outbox = openOutboxAt(location);
    try {
      const counts = await outbox.look();
      yield well(`the ${outbox.name} outbox is there, and of this version`);
      await outbox.checkWrites?.();
      yield well("it may be written to");
      yield* findingsOf(counts, clientId);
      if (showsLast) yield* lastEventsFound(await outbox.last(LAST), Date.now());
      for (const caution of (await outbox.cautions?.()) ?? []) yield note(caution);
    } finally {
      await outbox.close();
    }
  } catch (error) {
    yield wrong(problemAt(location, errorFrom(error)).message);
  }
}
