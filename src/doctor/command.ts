import { parseArgs } from "node:util";
import { callsFor } from "../client.js";
import { errorFrom } from "../errors.js";
import { type Finding, lineOf } from "../finding.js";
import { readConfig } from "../options.js";
import { maskEmails, presentable } from "../secret.js";
import type { Terminal } from "../terminal.js";
import { checkName, checkTls } from "./reach.js";
import { checkSession, checkStatus, noTestClick, type Patient, sendTestClick } from "./service.js";

const help = `Usage: express-affiliate doctor --base-url URL --client-id N [options]

Tells whether an integration with the tracking service works. Looks, and posts nothing unless told to.

  --base-url URL       the service's address: what comes before /api/v1/
  --client-id N        the program owner's clientId
  --api-key-env NAME   the environment variable that holds the API key
  --session ID         also tells whom this session is attributed to
  --send-test-click    also posts a click, which stays in the service's records
  --help               prints this

Exit code: 0 where all is well, 1 where something is not, 2 for arguments that are wrong.`;

/** `express-affiliate doctor`. Resolves with the exit code. */
export async function doctorCommand(args: string[], terminal: Terminal): Promise<number> {
  const { stdout, stderr, env } = terminal;
  try {
    const flags = parseFlags(args);
    if (flags.help) {
      stdout(help);
      return 0;
    }
    const patient = patientFrom(flags, env);
    const findings = await examine(patient, flags);
    // Whatever the service has said, and wherever it stands.
    const hide = (text: string) => maskEmails(presentable(text, patient.apiKey));
    for (const { is, text } of findings) stdout(lineOf({ is, text: hide(text) }, terminal));
    return findings.some(({ is }) => is === "wrong") ? 1 : 0;
  } catch (error) {
    stderr(`${errorFrom(error).message}\n\n${help}`);
    return 2;
  }
}

function parseFlags(args: string[]) {
  const text = { type: "string" } as const;
  const { values, positionals } = parseArgs({
    args,
    // Else it would be repeated in an error, and may be a key.
    allowPositionals: true,
    options: {
      "base-url": text,
      "client-id": text,
      "api-key-env": text,
      session: text,
      "send-test-click": { type: "boolean" },
      help: { type: "boolean", short: "h" },
    },
  });
  if (positionals.length > 0) throw new Error("doctor: takes options only, such as --base-url URL");
  return values;
}

type Flags = ReturnType<typeof parseFlags>;

/** The same reading of the options as `affiliate()`'s, so that what is refused there is refused here. */
function patientFrom(flags: Flags, env: Terminal["env"]): Patient {
  const name = flags["api-key-env"];
  const key = name === undefined ? undefined : env[name];
  if (name !== undefined && !key) {
    // It may be the key itself that was given.
    const shown = /^[A-Z_]+$/.test(name) ? name : "that --api-key-env names";
    throw new Error(`doctor: the environment variable ${shown} is not set`);
  }
  const { baseUrl, clientId, apiKey } = readConfig({
    baseUrl: flags["base-url"] as string,
    clientId: flags["client-id"] === undefined ? (undefined as never) : Number(flags["client-id"]),
    apiKey: key,
  });
  const calls = callsFor(clientId);
  // Refused here, where it is still a matter of usage.
  if (flags.session !== undefined) calls.status(flags.session);
  return { baseUrl, calls, apiKey, now: Date.now };
}

async function examine(patient: Patient, flags: Flags): Promise<Finding[]> {
  const name = await checkName(patient.baseUrl);
  if (name.is === "wrong") return [name];
  const tls = await checkTls(patient.baseUrl, patient.now());
  if (tls.is === "wrong") return [name, tls];
  return [
    name,
    tls,
    ...(await checkStatus(patient)),
    ...(flags.session === undefined ? [] : [await checkSession(patient, flags.session)]),
    ...(flags["send-test-click"] ? await sendTestClick(patient) : [noTestClick]),
  ];
}
