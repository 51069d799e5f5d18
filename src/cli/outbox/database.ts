import { createRequire } from "node:module";
import type { SqlOutbox } from "../../outbox/queue/queue-outbox.js";
import { OutboxError } from "../../shared/errors.js";
import { peerPlaces, resolvePeer } from "../../shared/peer.js";
import type { OpenOutbox } from "./actions.js";

/** How long the command waits for a server. */
export const TIMEOUT_MS = 20_000;

/** A driver that is installed for the host. @throws OutboxError if it is not. */
export function loadDriver<Driver>(
  specifier: string,
  database: string,
  code: `ERR_AFFILIATE_${string}_DRIVER`,
): Driver {
  const file = resolvePeer(specifier, peerPlaces());
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
  otherConnections(): Promise<number>;
}

/** A database's outbox for the command. `close` ends the pool that was made for it. */
export function openedIn(outbox: SqlOutbox, questions: Questions): OpenOutbox & Pick<SqlOutbox, "bind"> {
  return {
    ...outbox,
    hold: async () => ({ held: await outbox.hold(), otherConnections: await questions.otherConnections() }),
    async close() {
      await outbox.close();
      await questions.pool.end();
    },
  };
}
