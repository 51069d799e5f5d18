import { createRequire } from "node:module";
import type { SqlOutbox } from "../../outbox/sql/sql-outbox.js";
import { OutboxError } from "../../shared/errors.js";
import { peerPlaces, resolvePeer } from "../../shared/peer.js";
import type { OpenOutbox } from "./actions.js";

/** How long the command waits for a server, in milliseconds. */
export const TIMEOUT_MS = 20_000;

/** A database's driver as it is installed for the host. @throws OutboxError where it is not. */
export function loadDriver<Driver>(wanted: {
  specifier: string;
  /** What to install. */
  package: string;
  code: `ERR_AFFILIATE_${string}_DRIVER`;
  database: string;
}): Driver {
  const file = resolvePeer(wanted.specifier, peerPlaces(import.meta.url));
  if (file !== undefined) return createRequire(file)(file);
  const { code, database } = wanted;
  throw new OutboxError(
    code,
    `outbox: a ${database} URL needs the package ${wanted.package}, which is not installed here: npm install ${wanted.package}`,
  );
}

/** An outbox in a database, as the command uses it. `close` ends the pool that was made for it. */
export function openedIn(
  { name, look, deadLetters, personalData, erase, hold, cautions, close }: SqlOutbox,
  pool: { end(): Promise<void> },
  {
    checkWrites,
    otherConnections,
    last,
  }: Required<Pick<OpenOutbox, "checkWrites" | "last">> & { otherConnections: () => Promise<number> },
): OpenOutbox {
  return {
    checkWrites,
    last,
    hold: async () => ({ held: await hold(), otherConnections: await otherConnections() }),
    name,
    look,
    deadLetters,
    personalData,
    erase,
    cautions,
    async close() {
      await close();
      await pool.end();
    },
  };
}
