import { AffiliateError, errorCodeOf } from "../../shared/errors.js";
import type { OpenOutbox } from "./actions.js";
import type { Place } from "./arguments.js";
import { openDisk } from "./disk.js";
import { openMysql } from "./mysql.js";
import { passwordHider } from "./passwords.js";
import { openPostgres } from "./postgres.js";

/** Opens the outbox that is there. Makes none. @throws OutboxError */
export function openAt(place: Place): OpenOutbox {
  if ("mysqlUrl" in place) return openMysql(place.mysqlUrl, place.prefix);
  return "url" in place ? openPostgres(place.url, place.schema) : openDisk(place.directory);
}

/** What is wrong with the outbox there, or with the way to it; without the URL's password. */
export function problemAt(place: Place, error: Error): { code: string; message: string } {
  const code = errorCodeOf(error);
  if (error instanceof AffiliateError) return { code, message: error.message };
  const hide = passwordHider("directory" in place ? [] : ["url" in place ? place.url : place.mysqlUrl]);
  // Node's AggregateError, of a name with several addresses, has no message.
  return { code, message: `outbox: ${hide(error.message || code)}` };
}
