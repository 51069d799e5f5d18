import { LEAST_URGENT_FIRST } from "../../kinds.js";
import { DEATH_REASONS, type DeadLetterFilter } from "../../outbox/dead-letters.js";
import { PREFIX } from "../../outbox/mysql/migrations.js";
import { SCHEMA_NAME } from "../../outbox/postgres/migrations.js";
import { nearestWord } from "../../shared/nearest.js";
import { readArguments } from "../arguments.js";
import type { Terminal } from "../terminal.js";

export const help = `Usage: express-affiliate outbox <directory|database-url> <action> [options]
       express-affiliate outbox --url-env NAME <action> [options]

Shows what waits in an outbox and what was given up, and retries or discards the
latter. Safe while the host's processes run: it delivers nothing itself, and
creates or migrates no outbox.

  status                  how many events wait, since when and for which
                          client id, how many were given up and why
  list                    the dead letters, oldest first: the payment's id and
                          amount, and the customer's address masked; --json has
                          everything
  retry ID... | --all     queues dead letters again; the host's own process
                          delivers them
  discard ID... | --all   removes dead letters; reported again, they are still
                          duplicates; --all asks first
  person EMAIL [--erase]  the events of a customer with this address, and their
                          clicks; --erase removes them unsent, but not what is
                          under way
  hold                    after a restore, before the hosts start: every payment
                          that waits becomes an unconfirmed dead letter, as the
                          service may have it
  backup FILE             writes a copy of a directory's outbox into a new file,
                          while the hosts run

  --url-env NAME          the environment variable that holds the database's
                          URL, postgres://… or mysql://…, so that no shell
                          remembers its password
  --schema NAME           the schema of the Postgres outbox's tables
                          (default affiliate)
  --prefix PREFIX         what the names of the MySQL outbox's tables begin with
                          (default affiliate_)
  --limit N               how many dead letters to list at most (default 100)
  --all                   every dead letter there is; retry leaves the
                          unconfirmed ones alone unless --reason names them
  --kind K                with list and --all: click, registration or payment
  --reason R              with list and --all: rejected, unconfirmed or expired
  --yes                   discard --all does not ask
  --json                  prints one JSON document
  --help                  prints this

Exit code: 0 where all is well, dead letters or not; 1 where something is wrong:
no outbox there, trouble with its storage, an id without a dead letter, or the
answer no to a question; 2 for arguments that are wrong.`;

const ACTIONS = ["status", "list", "retry", "discard", "person", "hold", "backup"] as const;

/** Where the outbox is. */
export type OutboxLocation =
  | { readonly directory: string }
  | { readonly url: string; readonly schema: string | undefined }
  | { readonly mysqlUrl: string; readonly prefix: string | undefined };

/** The command's arguments, checked. */
export interface OutboxArguments {
  readonly location: OutboxLocation;
  readonly action: (typeof ACTIONS)[number];
  readonly ids: readonly string[];
  readonly all: boolean;
  /** Whether `discard --all` does not ask. */
  readonly yes: boolean;
  readonly limit: number;
  readonly filter: DeadLetterFilter;
  /** Of `person`: whose events, and whether to erase them. */
  readonly email: string;
  readonly erase: boolean;
  /** Of `backup`. */
  readonly file: string;
  readonly json: boolean;
}

/**
 * Reads the arguments of `express-affiliate outbox`; `undefined` where they ask for help.
 *
 * @throws Error where they are wrong.
 */
export function readOutboxArguments(args: string[], env: Terminal["env"]): OutboxArguments | undefined {
  const { values: flags, positionals } = readArguments({
    args,
    allowPositionals: true,
    options: {
      "url-env": { type: "string" },
      schema: { type: "string" },
      prefix: { type: "string" },
      limit: { type: "string" },
      kind: { type: "string" },
      reason: { type: "string" },
      all: { type: "boolean", default: false },
      yes: { type: "boolean", default: false },
      erase: { type: "boolean", default: false },
      json: { type: "boolean", default: false },
      help: { type: "boolean", short: "h" },
    },
  });
  if (flags.help) return undefined;
  const variable = flags["url-env"];
  const words = variable === undefined ? positionals : [urlIn(env, variable), ...positionals];
  const [where, action, ...ids] = words;
  if (!where) throw usageError("say where it is: a directory, or a Postgres or MySQL URL");
  const { all, yes, json, erase, limit = "100" } = flags;
  if (erase && action !== "person") throw usageError("--erase goes with person");
  if (yes && !(action === "discard" && all)) throw usageError("--yes goes with discard --all");
  const kind = oneOf(LEAST_URGENT_FIRST, "--kind", flags.kind);
  const reason = oneOf(DEATH_REASONS, "--reason", flags.reason);
  if ((kind || reason) && !(action === "list" || all))
    throw usageError("--kind and --reason go with list and --all");
  const filter = { ...(kind && { kind }), ...(reason && { reason }) };
  const [file = ""] = ids;
  const given = {
    ids: [...new Set(ids)],
    file,
    email: file,
    erase,
    all,
    yes,
    json,
    limit: Number(limit),
    filter,
  };
  switch (action) {
    case "retry":
    case "discard":
      if (all === ids.length > 0) throw usageError(`${action} takes either ids or --all`);
      if (flags.limit !== undefined) throw usageError(`${action} takes no --limit`);
      if (!ids.every((id) => /^\w+$/.test(id)))
        throw usageError("an id is what `list` prints first: 32 hex digits");
      break;
    case "list":
      if (!/^[1-9]\d{0,8}$/.test(limit)) throw usageError("--limit must be a positive integer");
      if (all || ids.length > 0) throw usageError("list takes neither ids nor --all; --limit N lists more");
      break;
    case "backup":
      if (ids.length !== 1 || all || flags.limit !== undefined) {
        throw usageError("backup takes one file's name, of a file that is not there yet");
      }
      break;
    case "person":
      if (ids.length !== 1 || !file.includes("@") || all || flags.limit !== undefined) {
        throw usageError("person takes one e-mail address");
      }
      break;
    case "status":
    case "hold":
      if (all || ids.length > 0 || flags.limit !== undefined) {
        throw usageError(`${action} takes no ids, no --all and no --limit`);
      }
      break;
    default: {
      // The error does not repeat the word: where two were swapped, it is the URL, which may hold a password.
      const nearest = nearestWord(action ?? "", ACTIONS);
      const meant = nearest ? `; did you mean ${nearest}?` : "";
      throw usageError(
        `say what to do${variable ? "" : " after where it is"}: ${ACTIONS.join(", ")}${meant}`,
      );
    }
  }
  return { ...given, action, location: locationFrom(where, flags) };
}

function oneOf<Word extends string>(
  words: readonly Word[],
  flag: string,
  given: string | undefined,
): Word | undefined {
  const found = words.find((word) => word === given);
  if (given === undefined || found) return found;
  const nearest = nearestWord(given, words);
  throw usageError(`${flag} must be ${words.join(", ")}${nearest ? `; did you mean ${nearest}?` : ""}`);
}

/** The URL in an environment variable. @throws Error where it is none. */
export function urlIn(env: Terminal["env"], variable: string): string {
  const url = env[variable];
  if (!url) throw usageError(`the environment variable ${variable} is not set`);
  if (!isPostgres(url) && !isMysql(url)) {
    throw usageError(`${variable} must hold a URL that begins with postgres:// or mysql://`);
  }
  return url;
}

/** Where an outbox is. @throws Error, which does not quote the URL: it may hold a password. */
export function locationFrom(
  where: string,
  { schema, prefix }: { schema?: string | undefined; prefix?: string | undefined },
): OutboxLocation {
  if (schema !== undefined && !isPostgres(where)) throw usageError("--schema goes with a Postgres URL");
  if (prefix !== undefined && !isMysql(where)) throw usageError("--prefix goes with a MySQL URL");
  if (!isPostgres(where) && !isMysql(where)) {
    if (where.includes("://")) throw usageError("a URL must begin with postgres:// or mysql://");
    return { directory: where };
  }
  // Otherwise the end of the password would be read as a host, a port or a database, and an error would show it.
  if (/^[^/]*\/\/[^/?#]*[/?#].*@/s.test(where)) {
    throw usageError(
      "in the URL's password / must be written %2F, ? %3F, # %23; and @ %40 in what follows the host",
    );
  }
  if (schema !== undefined && !SCHEMA_NAME.pattern.test(schema)) {
    throw usageError(`--schema ${SCHEMA_NAME.error}`);
  }
  if (prefix !== undefined && !PREFIX.pattern.test(prefix)) throw usageError(`--prefix ${PREFIX.error}`);
  return isMysql(where) ? { mysqlUrl: where, prefix } : { url: where, schema };
}

function isPostgres(where: string): boolean {
  return /^postgres(ql)?:\/\//i.test(where);
}

function isMysql(where: string): boolean {
  return /^(mysql|mariadb):\/\//i.test(where);
}

function usageError(message: string): Error {
  return new Error(message);
}
