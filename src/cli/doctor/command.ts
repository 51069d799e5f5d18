import { styleText } from "node:util";
import { readConfig } from "../../config.js";
import { callsFor } from "../../service/calls.js";
import { maskEmails } from "../../shared/emails.js";
import { errorFrom } from "../../shared/errors.js";
import { presentable } from "../../shared/secret.js";
import { readArguments, understood } from "../arguments.js";
import { countOf, type Finding, note, print, well, wrong } from "../finding.js";
import { findingsOf, lastEventsFound } from "../outbox/findings.js";
import { locationFrom, type OutboxLocation, openOutboxAt, problemAt, valueIn } from "../outbox/location.js";
import type { Terminal } from "../terminal.js";
import { checkService, type Target } from "./service.js";

const help = `Usage: express-affiliate doctor --base-url URL --client-id N [options]

       express-affiliate doctor --outbox WHERE [options]

Tells whether an integration with the tracking service works, and whether an
outbox does. Only reads, unless you add --send-test-click.

  --base-url URL       the service's address: what comes before /api/v1/
  --client-id N        the program owner's clientId
  --api-key-env NAME   the environment variable that holds the API key
  --session ID         also says which affiliate the session belongs to
  --send-test-click    also posts a click, which stays in the service's records
  --outbox WHERE       also looks into an outbox: a directory, postgres://… or
                       mysql://…; without --base-url, into nothing else
  --outbox-url-env NAME
                       the environment variable that holds the database's URL,
                       so that no shell remembers its password
  --schema NAME        the schema of the Postgres outbox's tables
  --prefix PREFIX      what the names of the MySQL outbox's tables begin with
  --last               with --outbox, also says what the last five events were,
                       and what became of them
  --json               prints one JSON document
  --help               prints this

Exit code: 0 if all is well, 1 if something is wrong, 2 if the arguments are
wrong.`;

/** How many events `--last` shows. */
const LAST = 5;

/** Resolves with the exit code. */
export async function doctorCommand(args: string[], terminal: Terminal): Promise<number> {
  const read = () => readFlags(args, terminal.env);
  const asked = understood("doctor", { args, help, terminal, read });
  if (typeof asked === "number") return asked;
  const findings: Finding[] = [];
  for await (const { type, text } of examine(asked)) {
    // For every text: the service may repeat the key or an address anywhere.
    const finding = { type, text: maskEmails(presentable(text, asked.target?.apiKey)) };
    findings.push(finding);
    if (!asked.json) print(finding, terminal);
  }
  const wrongs = findings.filter(({ type }) => type === "wrong").length;
  const verdict = wrongs
    ? styleText("red", `not healthy: ${countOf(wrongs, "finding")} WRONG`)
    : styleText("green", "healthy: nothing wrong was found");
  terminal.stdout(asked.json ? JSON.stringify({ healthy: wrongs === 0, findings }) : verdict);
  return wrongs === 0 ? 0 : 1;
}

/** `undefined` if the arguments ask for help. @throws Error if they are wrong. */
function readFlags(args: string[], env: Terminal["env"]) {
  const { values: flags } = readArguments({
    args,
    options: {
      "base-url": { type: "string" },
      "client-id": { type: "string" },
      "api-key-env": { type: "string" },
      session: { type: "string" },
      "send-test-click": { type: "boolean", default: false },
      last: { type: "boolean", default: false },
      outbox: { type: "string" },
      "outbox-url-env": { type: "string" },
      schema: { type: "string" },
      prefix: { type: "string" },
      json: { type: "boolean", default: false },
      help: { type: "boolean", short: "h" },
    },
  });
  if (flags.help) return undefined;
  const { outbox, "outbox-url-env": variable, session, last, json, "send-test-click": sendsClick } = flags;
  if (outbox !== undefined && variable !== undefined)
    throw new Error("--outbox and --outbox-url-env do not go together");
  const where = variable === undefined ? outbox : valueIn(env, variable);
  if (where === undefined && (last || (flags.schema ?? flags.prefix) !== undefined))
    throw new Error("--schema, --prefix and --last go with --outbox");
  const location = where === undefined ? undefined : locationFrom(where, flags);
  const isOfService = [flags["base-url"], flags["client-id"], flags["api-key-env"], session];
  const hasTarget = !location || sendsClick || isOfService.some((flag) => flag !== undefined);
  const target = hasTarget ? targetFrom(flags, env) : undefined;
  // Checked here, so that a wrong id is an error of usage.
  if (session !== undefined) target?.calls.status(session);
  return { target, location, session, sendsClick, last, json };
}

type Asked = NonNullable<ReturnType<typeof readFlags>>;

/** Reads options as `affiliate()` does, so that both refuse the same. */
function targetFrom(
  flags: Partial<Record<"base-url" | "client-id" | "api-key-env", string>>,
  env: Terminal["env"],
): Target {
  const { "api-key-env": name, "client-id": id, "base-url": address } = flags;
  const key = name === undefined ? undefined : env[name];
  if (name !== undefined && !key) {
    // The word may be the key itself.
    const shown = /^[A-Z_]+$/.test(name) ? name : "that --api-key-env names";
    throw new Error(`the environment variable ${shown} is not set; no file is read without node --env-file`);
  }
  try {
    const { baseUrl, clientId, apiKey } = readConfig({
      baseUrl: address as string,
      clientId: id === undefined ? (undefined as never) : Number(id),
      apiKey: key,
    });
    const checksTls = env.NODE_TLS_REJECT_UNAUTHORIZED !== "0";
    return { baseUrl, clientId, calls: callsFor(clientId), apiKey, checksTls };
  } catch (error) {
    throw new Error(inFlags(errorFrom(error).message));
  }
}

/** With the options' names on the command line. */
function inFlags(message: string): string {
  return message
    .replace(/^affiliate: ?/, "")
    .replaceAll("`baseUrl`", "--base-url")
    .replaceAll("`clientId`", "--client-id")
    .replaceAll("`apiKey`", "--api-key-env")
    .replace("`allowInsecure: true` allows it", "the doctor takes http: on this machine alone");
}

async function* examine({ target, location, ...asked }: Asked): AsyncGenerator<Finding> {
  if (target) yield* checkService(target, asked);
  if (location) yield* checkOutbox(location, target?.clientId, asked.last);
}

/** Whether it is there, of this version, and takes writes, and what waits in it. Changes nothing. */
async function* checkOutbox(location: OutboxLocation, clientId: number | undefined, showsLast: boolean) {
  try {
    const outbox = openOutboxAt(location);
    try {
      const counts = await outbox.look();
      yield well(`the ${outbox.name} outbox is there, and of this version`);
      await outbox.checkWrites();
      yield well("it may be written to");
      yield* findingsOf(counts, clientId);
      if (showsLast) yield* lastEventsFound(await outbox.last(LAST));
      for (const caution of (await outbox.cautions?.()) ?? []) yield note(caution);
    } finally {
      await outbox.close();
    }
  } catch (error) {
    yield wrong(problemAt(location, errorFrom(error)).message);
  }
}
