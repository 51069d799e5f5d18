import { errorFrom } from "../../shared/errors.js";
import { type Finding, note, well, wrong } from "../finding.js";
import { findingsOf } from "../outbox/actions.js";
import type { Place } from "../outbox/arguments.js";
import { openAt, problemAt } from "../outbox/open.js";

/**
 * Checks whether there is an outbox, of this version, that may be written to, and says what waits in it. Changes nothing.
 *
 * @param destination the program and address that are examined, where they are.
 */
export async function* checkOutbox(place: Place, destination: string | undefined): AsyncGenerator<Finding> {
  try {
    const outbox = openAt(place);
    try {
      const counts = await outbox.look();
      yield well(`the ${outbox.name} outbox is there, and of this version`);
      await outbox.checkWrites?.();
      yield well("it may be written to");
      yield* findingsOf(counts);
      for (const caution of (await outbox.cautions?.()) ?? []) yield note(caution);
      const { byDestination = {} } = counts;
      const others = Object.keys(byDestination).filter((name) => name !== destination && byDestination[name]);
      if (destination !== undefined && others.length > 0) {
        yield note(
          `events wait for ${others.join(", ")}, and not for ${destination} alone: each needs a process of its own; after the service has moved, \`express-affiliate outbox … hand-over\` makes them the other's`,
        );
      }
    } finally {
      await outbox.close();
    }
  } catch (error) {
    yield wrong(problemAt(place, errorFrom(error)).message);
  }
}
