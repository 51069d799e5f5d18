import { AffiliateError, errorCodeOf } from "../../shared/errors.js";
import type { OpenOutbox } from "./actions.js";
import type { OutboxLocation } from "./arguments.js";
import { openMysql, openPostgres } from "./databases.js";
import { openDisk } from "./disk.js";
import { passwordHider } from "./passwords.js";

/** Opens an existing outbox, for one client id or for all. @throws OutboxError */
export function openOutboxAt(
  { storage, where, schema, prefix }: OutboxLocation,
  clientId?: number,
): OpenOutbox {
  if (storage === "disk") return openDisk(where, { clientId });
  const outbox = storage === "mysql" ? openMysql(where, prefix) : openPostgres(where, schema);
  if (clientId !== undefined) outbox.bind(clientId);
  return outbox;
}

/** What is wrong with the outbox or the connection, without the URL's password. */
export function problemAt({ where }: OutboxLocation, error: Error): { code: string; message: string } {
  const code = errorCodeOf(error);
  if (error instanceof AffiliateError) return { code, message: error.message };
  // Node's AggregateError, of a name with several addresses, has no message.
  return { code, message: `outbox: ${passwordHider([where])(error.message || code)}` };
}
