import { AffiliateError, errorCodeOf } from "../../shared/errors.js";
import type { OpenOutbox } from "./actions.js";
import type { OutboxLocation } from "./arguments.js";
import { openDisk } from "./disk.js";
import { openMysql } from "./mysql.js";
import { passwordHider } from "./passwords.js";
import { openPostgres } from "./postgres.js";

/** Opens an existing outbox. @throws OutboxError */
export function openOutboxAt(location: OutboxLocation): OpenOutbox {
  if ("mysqlUrl" in location) return openMysql(location.mysqlUrl, location.prefix);
  return "url" in location ? openPostgres(location.url, location.schema) : openDisk(location.directory);
}

/** What is wrong with the outbox, or the connection to it; without the URL's password. */
export function problemAt(location: OutboxLocation, error: Error): { code: string; message: string } {
  const code = errorCodeOf(error);
  if (error instanceof AffiliateError) return { code, message: error.message };
  const hide = passwordHider(
    "directory" in location ? [] : ["url" in location ? location.url : location.mysqlUrl],
  );
  // Node's AggregateError, for a name with several addresses, has no message.
  return { code, message: `outbox: ${hide(error.message || code)}` };
}
