import { createRequire } from "node:module";
import type { SqlOutbox } from "../../outbox/sql/sql-outbox.js";
import { OutboxError } from "../../shared/errors.js";
import { peerPlaces, resolvePeer } from "../../shared/peer.js";
import type { OpenOutbox } from "./actions.js";
import { type LastEvent, newest } from "./last-events.js";

/** How long the command waits for a server. */
export const TIMEOUT_MS = 20_000;

/** A driver that is installed for the host. @throws OutboxError if it is not. */
export function loadDriver<Driver>(
  specifier: string,
  database: string,
  code: `ERR_AFFILIATE_${string}_DRIVER`,
): Driver {
  const file = resolvePeer(specifier, peerPlaces(import.meta.url));
  if (file !== undefined) return createRequire(file)(file);
  const [name] = specifier.split("/");
  throw new OutboxError(
    code,
    `outbox: a ${database} URL needs the package ${name}, which is not installed here: npm install ${name}`,
  );
}

/** What the command asks a database beside the outbox. */
interface Questions {
  readonly pool: { end(): Promise<void> };
  /** Deletes no row. */
  deleteNothing(): Promise<unknown>;
  last(limit: number): Promise<readonly LastEvent[]>;
  otherConnections(): Promise<number>;
  /** What an error of the driver means. */
  problemOf(error: unknown): unknown;
}

/** A database's outbox for the command. `close` ends the pool that was made for it. */
export function openedIn(outbox: SqlOutbox, questions: Questions): OpenOutbox {
  const explained = <T>(asked: Promise<T>): Promise<T> =>
    asked.catch((error: unknown) => {
      throw questions.problemOf(error);
    });
  return {
    ...outbox,
    // Refused if it is not allowed, even though it applies to no row.
    checkWrites: async () => void (await explained(questions.deleteNothing())),
    last: async (limit) => newest(await explained(questions.last(limit)), limit),
    hold: async () => ({ held: await outbox.hold(), otherConnections: await questions.otherConnections() }),
    async close() {
      await outbox.close();
      await questions.pool.end();
    },
  };
}
