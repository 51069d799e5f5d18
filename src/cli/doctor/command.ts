import { readConfig } from "../../config.js";
import { callsFor } from "../../service/calls.js";
import { maskEmails } from "../../shared/emails.js";
import { errorFrom, OptionsError } from "../../shared/errors.js";
import { presentable } from "../../shared/secret.js";
import { readArguments, refuseArguments } from "../arguments.js";
import { type CheckResult, painted, print } from "../finding.js";
import { locationFrom, type OutboxLocation, urlIn } from "../outbox/arguments.js";
import { passwordHider } from "../outbox/passwords.js";
import type { Terminal } from "../terminal.js";
import { checkOutbox } from "./outbox.js";
import {
  checkSession,
  checkStatus,
  checkTlsSetting,
  lastInSandbox,
  noTestClick,
  sendTestClick,
  type Target,
} from "./service.js";

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
  --last               also says what the last five events were, and what became
                       of them: of the outbox, and of a sandbox at --base-url
  --json               prints one JSON document
  --help               prints this

Exit code: 0 if all is well, 1 if something is wrong, 2 if the arguments are
wrong.`;

/** Resolves with the exit code. */
export async function doctorCommand(args: string[], terminal: Terminal): Promise<number> {
  const { stdout } = terminal;
  let flags: Flags;
  let target: Target | undefined;
  let location: OutboxLocation | undefined;
  let tlsSetting: CheckResult | undefined;
  try {
    flags = parseFlags(args);
    if (flags.help) {
      stdout(help);
      return 0;
    }
    location = outboxFrom(flags, terminal.env);
    if (!location || OF_THE_SERVICE.some((name) => flags[name] !== undefined)) {
      target = targetFrom(flags, terminal.env);
      tlsSetting = checkTlsSetting(terminal.env);
    }
  } catch (error) {
    return refuseArguments("doctor", passwordHider(args)(inFlags(errorFrom(error))), terminal);
  }
  const findings: CheckResult[] = [];
  // For every text: the service may repeat the key or an address anywhere.
  const hide = (text: string) => maskEmails(presentable(text, target?.apiKey));
  for await (const { type, text } of examine(target, flags, location, tlsSetting)) {
    const finding = { type, text: hide(text) };
    findings.push(finding);
    if (!flags.json) print(finding, terminal);
  }
  const wrongs = findings.filter(({ type }) => type === "wrong").length;
  if (flags.json) stdout(JSON.stringify({ healthy: wrongs === 0, findings }));
  else print(verdict(wrongs), terminal);
  return wrongs === 0 ? 0 : 1;
}

function verdict(wrongs: number): string {
  if (wrongs === 0) return painted("healthy: nothing wrong was found", "green");
  return painted(`not healthy: ${wrongs} ${wrongs === 1 ? "finding is" : "findings are"} WRONG`, "red");
}

function parseFlags(args: string[]) {
  const text = { type: "string" } as const;
  const { values, positionals } = readArguments({
    args,
    // Node's own error would repeat a word that may be a key.
    allowPositionals: true,
    options: {
      "base-url": text,
      "client-id": text,
      "api-key-env": text,
      session: text,
      "send-test-click": { type: "boolean" },
      last: { type: "boolean", default: false },
      outbox: text,
      "outbox-url-env": text,
      schema: text,
      prefix: text,
      json: { type: "boolean", default: false },
      help: { type: "boolean", short: "h" },
    },
  });
  if (positionals.length > 0) throw new Error("takes options only, such as --base-url URL");
  return values;
}

type Flags = ReturnType<typeof parseFlags>;

/** With one of these options, the service is examined too. */
const OF_THE_SERVICE = ["base-url", "client-id", "api-key-env", "session", "send-test-click"] as const;

function outboxFrom(flags: Flags, env: Terminal["env"]): OutboxLocation | undefined {
  const { outbox, "outbox-url-env": variable, schema, prefix } = flags;
  if (outbox !== undefined && variable !== undefined) {
    throw new Error("--outbox and --outbox-url-env do not go together");
  }
  const where = variable === undefined ? outbox : urlIn(env, variable);
  if (where !== undefined) return locationFrom(where, { schema, prefix });
  if (schema !== undefined || prefix !== undefined) {
    throw new Error("--schema and --prefix go with --outbox");
  }
  return undefined;
}

/** Reads options as `affiliate()` does, so that both refuse the same. */
function targetFrom(flags: Flags, env: Terminal["env"]): Target {
  const name = flags["api-key-env"];
  const key = name === undefined ? undefined : env[name];
  if (name !== undefined && !key) {
    // The word may be the key itself.
    const shown = /^[A-Z_]+$/.test(name) ? name : "that --api-key-env names";
    throw new Error(
      `the environment variable ${shown} is not set; no file is read, unless by node --env-file`,
    );
  }
  const { baseUrl, clientId, apiKey } = readConfig({
    baseUrl: flags["base-url"] as string,
    clientId: flags["client-id"] === undefined ? (undefined as never) : Number(flags["client-id"]),
    apiKey: key,
  });
  const calls = callsFor(clientId);
  // Checked here, so that a wrong id is an error of usage.
  if (flags.session !== undefined) calls.status(flags.session);
  return { baseUrl, clientId, calls, apiKey };
}

/** The error with the options' names on the command line. */
function inFlags(error: Error): string {
  if (!(error instanceof OptionsError)) return error.message;
  return error.message
    .replace(/^affiliate: ?/, "")
    .replaceAll("`baseUrl`", "--base-url")
    .replaceAll("`clientId`", "--client-id")
    .replaceAll("`apiKey`", "--api-key-env");
}

async function* examine(
  target: Target | undefined,
  flags: Flags,
  location: OutboxLocation | undefined,
  tlsSetting: CheckResult | undefined,
): AsyncGenerator<CheckResult> {
  if (tlsSetting) yield tlsSetting;
  if (target) yield* examineService(tlsSetting ? { ...target, apiKey: undefined } : target, flags);
  if (location) yield* checkOutbox(location, target?.clientId, flags.last);
}

/** Yields findings as they come. */
async function* examineService(target: Target, flags: Flags): AsyncGenerator<CheckResult> {
  if (!(yield* checkStatus(target))) return;
  if (flags.session !== undefined) yield await checkSession(target, flags.session);
  if (flags["send-test-click"]) yield* sendTestClick(target);
  else yield noTestClick(target);
  if (flags.last) yield* lastInSandbox(target.baseUrl);
}
