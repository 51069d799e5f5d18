import { PREFIX } from "../../outbox/mysql/sql.js";
import { SCHEMA_NAME } from "../../outbox/postgres/sql.js";
import { AffiliateError, errorCodeOf } from "../../shared/errors.js";
import { passwordHider } from "../passwords.js";
import type { OpenOutbox } from "./actions.js";
import { openMysql, openPostgres } from "./databases.js";
import { openDisk } from "./disk.js";

export interface OutboxLocation {
  readonly storage: "disk" | "postgres" | "mysql";
  /** The directory, or the database's URL. */
  readonly where: string;
  readonly schema?: string | undefined;
  readonly prefix?: string | undefined;
}

/** @throws Error, which does not quote the URL: it may hold a password. */
export function locationFrom(
  where: string,
  { schema, prefix }: Pick<OutboxLocation, "schema" | "prefix">,
): OutboxLocation {
  if (where === "") throw new Error("say where it is: a directory, or a Postgres or MySQL URL");
  const storage = storageOf(where);
  if (schema !== undefined && storage !== "postgres") throw new Error("--schema goes with a Postgres URL");
  if (prefix !== undefined && storage !== "mysql") throw new Error("--prefix goes with a MySQL URL");
  if (storage === "disk" && where.includes("://"))
    throw new Error("a URL must begin with postgres:// or mysql://");
  // Otherwise an error would show the password's end, read as a host, port or database.
  if (storage !== "disk" && /^[^/]*\/\/[^/?#]*[/?#].*@/s.test(where))
    throw new Error("in the URL's password / must be written %2F, ? %3F, # %23; after the host @ %40");
  if (!SCHEMA_NAME.pattern.test(schema ?? "a")) throw new Error(`--schema ${SCHEMA_NAME.error}`);
  if (!PREFIX.pattern.test(prefix ?? "a")) throw new Error(`--prefix ${PREFIX.error}`);
  return { storage, where, schema, prefix };
}

function storageOf(where: string): OutboxLocation["storage"] {
  if (/^postgres(ql)?:\/\//i.test(where)) return "postgres";
  return /^(mysql|mariadb):\/\//i.test(where) ? "mysql" : "disk";
}

/** A database's URL. @throws Error, which does not quote the value: it may hold a password in another form. */
export function valueIn(env: Readonly<Record<string, string | undefined>>, variable: string): string {
  const value = env[variable];
  if (!value) throw new Error(`the environment variable ${variable} is not set`);
  if (storageOf(value) === "disk")
    throw new Error(`${variable} must hold a URL that begins with postgres:// or mysql://`);
  return value;
}

/** Opens an existing outbox, for one client id or for all. @throws OutboxError */
export function openOutboxAt(location: OutboxLocation, clientId?: number): OpenOutbox {
  const { storage, where, schema, prefix } = location;
  if (storage === "disk") return openDisk(where, clientId);
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
