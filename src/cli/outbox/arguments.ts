import { LEAST_URGENT_FIRST } from "../../conversion/kinds.js";
import { DEATH_REASONS, type DeadLetterFilter } from "../../outbox/dead-letters.js";
import { PREFIX } from "../../outbox/mysql/migrations.js";
import { SCHEMA_NAME } from "../../outbox/postgres/migrations.js";
import { didYouMean, readArguments } from "../arguments.js";
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
  --client-id N           the events of this client id alone (default: of all)
  --limit N               how many dead letters to list at most (default 100)
  --all                   every dead letter there is; retry leaves the
                          unconfirmed ones alone unless --reason names them
  --kind K                with list and --all: click, registration or payment
  --reason R              with list and --all: rejected, unconfirmed or expired
  --yes                   discard --all does not ask
  --json                  prints one JSON document
  --help                  prints this

Exit code: 0 if all is well, dead letters or not; 1 if something is wrong: no
outbox there, trouble with its storage, an id without a dead letter, or the
answer no to a question; 2 if the arguments are wrong.`;

const FILTER = ["client-id", "kind", "reason"];

/** How many words and which options each action takes, and how an error says the former. */
const ACTIONS = {
  status: { words: 0, says: "no ids", options: ["client-id"] },
  list: { words: 0, says: "no ids; --limit N lists more", options: [...FILTER, "limit"] },
  retry: { words: "ids", says: "either ids or --all", options: [...FILTER, "all"] },
  discard: { words: "ids", says: "either ids or --all", options: [...FILTER, "all", "yes"] },
  person: { words: 1, says: "one e-mail address", options: ["client-id", "erase"] },
  hold: { words: 0, says: "no ids", options: ["client-id"] },
  backup: { words: 1, says: "one file's name, of a file that is not there yet", options: [] },
} satisfies Record<string, { words: number | "ids"; says: string; options: string[] }>;

const WITH_ALL = ["url-env", "schema", "prefix", "json"];

type Action = keyof typeof ACTIONS;

export interface OutboxLocation {
  readonly storage: "disk" | "postgres" | "mysql";
  /** The directory, or the database's URL. */
  readonly where: string;
  readonly schema: string | undefined;
  readonly prefix: string | undefined;
}

export interface OutboxArguments {
  readonly location: OutboxLocation;
  /** `undefined`: all. */
  readonly clientId: number | undefined;
  readonly action: Action;
  readonly ids: readonly string[];
  readonly all: boolean;
  /** Whether a person must agree first. */
  readonly asks: boolean;
  readonly limit: number;
  readonly filter: DeadLetterFilter;
  /** The address of `person`, the file of `backup`. */
  readonly word: string;
  /** Of `person`: whether to erase the events. */
  readonly erase: boolean;
  readonly json: boolean;
}

/** `undefined` if the arguments ask for help. @throws Error if they are wrong. */
export function readOutboxArguments(args: string[], env: Terminal["env"]): OutboxArguments | undefined {
  const { values: flags, positionals } = readArguments({
    args,
    allowPositionals: true,
    options: {
      "url-env": { type: "string" },
      schema: { type: "string" },
      prefix: { type: "string" },
      "client-id": { type: "string" },
      limit: { type: "string" },
      kind: { type: "string" },
      reason: { type: "string" },
      all: { type: "boolean" },
      yes: { type: "boolean" },
      erase: { type: "boolean" },
      json: { type: "boolean" },
      help: { type: "boolean", short: "h" },
    },
  });
  if (flags.help) return undefined;
  const variable = flags["url-env"];
  const words = variable === undefined ? positionals : [urlIn(env, variable), ...positionals];
  const [where, action = "", ...ids] = words;
  if (!where) throw new Error("say where it is: a directory, or a Postgres or MySQL URL");
  if (!isAction(action)) {
    // Does not repeat the word: if two were swapped, it is a URL, which may hold a password.
    const actions = Object.keys(ACTIONS);
    const after = variable ? "" : " after where it is";
    throw new Error(`say what to do${after}: ${actions.join(", ")}${didYouMean(action, actions)}`);
  }
  const { words: number, says, options } = ACTIONS[action];
  const other = Object.keys(flags).find((name) => ![...WITH_ALL, ...options].includes(name));
  if (other) throw new Error(`--${other} does not go with ${action}`);
  const { all = false, yes = false, json = false, erase = false } = flags;
  const clientId = positiveInteger("--client-id", flags["client-id"], Number.MAX_SAFE_INTEGER);
  const kind = oneOf(LEAST_URGENT_FIRST, "--kind", flags.kind);
  const reason = oneOf(DEATH_REASONS, "--reason", flags.reason);
  if (number === "ids" && !all && (kind || reason || yes))
    throw new Error("--kind, --reason and --yes go with --all");
  const isNumber = number === "ids" ? all !== ids.length > 0 : ids.length === number;
  if (!isNumber || (action === "person" && !ids[0]?.includes("@")))
    throw new Error(`${action} takes ${says}`);
  if (number === "ids" && !ids.every((id) => /^\w+$/.test(id)))
    throw new Error("an id is what `list` prints first: 32 hex digits");
  return {
    location: locationFrom(where, flags),
    clientId,
    action,
    ids: [...new Set(ids)],
    all,
    asks: action === "discard" && all && !yes,
    limit: positiveInteger("--limit", flags.limit) ?? 100,
    filter: { kind, reason },
    word: ids[0] ?? "",
    erase,
    json,
  };
}

function isAction(word: string): word is Action {
  return Object.hasOwn(ACTIONS, word);
}

function oneOf<Word extends string>(
  words: readonly Word[],
  flag: string,
  given: string | undefined,
): Word | undefined {
  const found = words.find((word) => word === given);
  if (given === undefined || found) return found;
  throw new Error(`${flag} must be ${words.join(", ")}${didYouMean(given, words)}`);
}

function positiveInteger(flag: string, given: string | undefined, most = 999_999_999): number | undefined {
  if (given === undefined) return undefined;
  if (!/^[1-9]\d*$/.test(given) || Number(given) > most)
    throw new Error(`${flag} must be a positive integer`);
  return Number(given);
}

/** @throws Error if the variable has no URL of a database. */
export function urlIn(env: Terminal["env"], variable: string): string {
  const url = env[variable];
  if (!url) throw new Error(`the environment variable ${variable} is not set`);
  if (storageOf(url) === "disk") {
    throw new Error(`${variable} must hold a URL that begins with postgres:// or mysql://`);
  }
  return url;
}

/** @throws Error, which does not quote the URL: it may hold a password. */
export function locationFrom(
  where: string,
  { schema, prefix }: { schema?: string | undefined; prefix?: string | undefined },
): OutboxLocation {
  const storage = storageOf(where);
  if (schema !== undefined && storage !== "postgres") throw new Error("--schema goes with a Postgres URL");
  if (prefix !== undefined && storage !== "mysql") throw new Error("--prefix goes with a MySQL URL");
  if (storage === "disk" && where.includes("://")) {
    throw new Error("a URL must begin with postgres:// or mysql://");
  }
  // Otherwise an error would show the password's end, read as a host, port or database.
  if (storage !== "disk" && /^[^/]*\/\/[^/?#]*[/?#].*@/s.test(where)) {
    throw new Error(
      "in the URL's password / must be written %2F, ? %3F, # %23; and @ %40 in what follows the host",
    );
  }
  if (schema !== undefined && !SCHEMA_NAME.pattern.test(schema)) {
    throw new Error(`--schema ${SCHEMA_NAME.error}`);
  }
  if (prefix !== undefined && !PREFIX.pattern.test(prefix)) throw new Error(`--prefix ${PREFIX.error}`);
  return { storage, where, schema, prefix };
}

function storageOf(where: string): OutboxLocation["storage"] {
  if (/^postgres(ql)?:\/\//i.test(where)) return "postgres";
  return /^(mysql|mariadb):\/\//i.test(where) ? "mysql" : "disk";
}
