import { LEAST_URGENT_FIRST } from "../../conversion/kinds.js";
import { DEATH_REASONS } from "../../outbox/dead-letters.js";
import { addressIn } from "../../shared/emails.js";
import { errorFrom } from "../../shared/errors.js";
import { printable, printableJson } from "../../shared/printable.js";
import { didYouMean, readArguments, understood } from "../arguments.js";
import { print } from "../finding.js";
import type { Terminal } from "../terminal.js";
import { type Action, backup, discard, hold, list, person, retry, status } from "./actions.js";
import { locationFrom, openOutboxAt, problemAt, valueIn } from "./location.js";

const help = `Usage: express-affiliate outbox <directory|database-url> <action> [options]
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
                          clicks; --erase removes them, so that they are sent no
                          more, but not what is under way
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
outbox there, trouble with its storage, or an id without a dead letter; 2 if the
arguments are wrong.`;

interface ActionRow {
  readonly run: Action;
  /** The words that it takes: so many, or ids. */
  readonly words: number | "ids";
  /** The same, for an error. */
  readonly takes: string;
  /** Besides those that all actions have. */
  readonly options: readonly string[];
}

const FILTER = ["client-id", "kind", "reason"];

const ACTIONS: Readonly<Record<string, ActionRow>> = {
  status: { run: status, words: 0, takes: "no ids", options: ["client-id"] },
  list: { run: list, words: 0, takes: "no ids; --limit N lists more", options: [...FILTER, "limit"] },
  retry: { run: retry, words: "ids", takes: "either ids or --all", options: [...FILTER, "all"] },
  discard: { run: discard, words: "ids", takes: "either ids or --all", options: [...FILTER, "all", "yes"] },
  person: { run: person, words: 1, takes: "one e-mail address", options: ["client-id", "erase"] },
  hold: { run: hold, words: 0, takes: "no ids", options: ["client-id"] },
  backup: { run: backup, words: 1, takes: "one file's name, of a file that is not there yet", options: [] },
};

const WITH_ALL = ["url-env", "schema", "prefix", "json"];

/** Resolves with the exit code. */
export async function outboxCommand(args: string[], terminal: Terminal): Promise<number> {
  const asked = understood("outbox", { args, help, terminal, read: () => read(args, terminal) });
  if (typeof asked === "number") return asked;
  const { location, clientId, json, run } = asked;
  try {
    const outbox = openOutboxAt(location, clientId);
    const report = await run(outbox, asked).finally(() => outbox.close());
    if (json) terminal.stdout(printableJson(report.json));
    else for (const line of report.lines) print(line, terminal);
    return report.lines.some((line) => typeof line === "object" && line.type === "wrong") ? 1 : 0;
  } catch (thrown) {
    const error = problemAt(location, errorFrom(thrown));
    if (json) terminal.stdout(printableJson({ error }));
    else terminal.stderr(error.message.split("\n").map(printable).join("\n"));
    return 1;
  }
}

/** `undefined` if the arguments ask for help. @throws Error if they are wrong. */
function read(args: string[], { env, ask }: Terminal) {
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
  const before = variable ? [valueIn(env, variable)] : [];
  const [where = "", action = "", ...words] = [...before, ...positionals];
  const location = locationFrom(where, flags);
  const row = Object.hasOwn(ACTIONS, action) ? ACTIONS[action] : undefined;
  if (!row) {
    // Does not repeat the word: if two were swapped, it is a URL, which may hold a password.
    const actions = Object.keys(ACTIONS);
    const after = variable ? "" : " after where it is";
    throw new Error(`say what to do${after}: ${actions.join(", ")}${didYouMean(action, actions)}`);
  }
  const stray = Object.keys(flags).find((name) => ![...WITH_ALL, ...row.options].includes(name));
  if (stray) throw new Error(`--${stray} does not go with ${action}`);
  const { all = false, yes = false, json = false, erase = false } = flags;
  const clientId = positiveInteger("--client-id", flags["client-id"]);
  const filter = {
    kind: oneOf(LEAST_URGENT_FIRST, "--kind", flags.kind),
    reason: oneOf(DEATH_REASONS, "--reason", flags.reason),
  };
  const takesIds = row.words === "ids";
  if (takesIds && !all && (filter.kind || filter.reason || yes))
    throw new Error("--kind, --reason and --yes go with --all");
  const isNumber = takesIds ? all !== words.length > 0 : words.length === row.words;
  if (!isNumber || (row.run === person && !addressIn(words[0] ?? "")))
    throw new Error(`${action} takes ${row.takes}`);
  if (takesIds && !words.every((id) => /^\w+$/.test(id)))
    throw new Error("an id is what `list` prints first: 32 hex digits");
  const limit = positiveInteger("--limit", flags.limit) ?? 100;
  const asks = row.run === discard && all && !yes;
  if (asks && (json || !ask))
    throw new Error("discard --all removes every dead letter meant; with --yes it does so without asking");
  return { ...row, location, clientId, words, all, ask: asks ? ask : undefined, limit, filter, erase, json };
}

function oneOf<Word extends string>(words: readonly Word[], flag: string, given: string | undefined) {
  const found = words.find((word) => word === given);
  if (given === undefined || found) return found;
  throw new Error(`${flag} must be ${words.join(", ")}${didYouMean(given, words)}`);
}

function positiveInteger(flag: string, given: string | undefined): number | undefined {
  const number = given === undefined ? undefined : Number(given);
  if (number !== undefined && !(/^\d+$/.test(given ?? "") && Number.isSafeInteger(number) && number > 0))
    throw new Error(`${flag} must be a positive integer`);
  return number;
}
