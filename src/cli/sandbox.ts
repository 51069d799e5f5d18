import type { parseArgs } from "node:util";
import { createSandbox, type Sandbox, type SandboxOptions } from "../sandbox/sandbox.js";
import { errorFrom } from "../shared/errors.js";
import { readArguments, understood } from "./arguments.js";
import type { Terminal } from "./terminal.js";

const help = `Usage: express-affiliate sandbox [options]

Runs the affiliate tracking service on this machine: for development and tests,
never production.

  --port N               the service's port (default 4010; 0: any free one)
  --inspector-port N     the inspector's port (default: the one after the
                         service's)
  --host ADDRESS         the address to listen on (default 127.0.0.1)
  --db FILE              keeps the ledger in this file (default: in memory)
  --api-key KEY          the program owner's API key (default sandbox-api-key)
  --client-id N          the program owner's clientId (default 1001)
  --require-key-for LIST the endpoints that answer 401 without the key, comma-
                         separated (default status): click, registration,
                         registrationLead, paymentLead, status, or none
  --no-snippet-session   /snippet.js keeps the click id alone, no session id
  --help                 prints this

Exit code: 0 once it has been stopped, 1 if it cannot start, 2 if the arguments
are wrong.`;

/** Resolves with the running sandbox once its address is printed, or with an exit code. */
export async function sandboxCommand(args: string[], terminal: Terminal): Promise<Sandbox | number> {
  const read = () => {
    const { values } = readArguments({ args, options });
    return values.help ? undefined : values;
  };
  const flags = understood("sandbox", { args, help, terminal, read });
  if (typeof flags === "number") return flags;
  try {
    const sandbox = await createSandbox(toOptions(flags));
    for (const line of welcome(sandbox, flags)) terminal.stdout(line);
    return sandbox;
  } catch (error) {
    terminal.stderr(errorFrom(error).message);
    return error instanceof TypeError ? 2 : 1;
  }
}

function welcome({ url, inspectorUrl, clientId, apiKey }: Sandbox, flags: Flags): string[] {
  const list = flags["require-key-for"] ?? "";
  const key = list.includes("click") ? " --api-key-env TRACKING_API_KEY" : "";
  return [
    "The sandbox of the affiliate tracking service is running. For development and",
    "tests only.",
    "",
    `  inspector  ${inspectorUrl}`,
    `  ledger     ${flags.db ?? "in memory; keep it in a file with --db FILE"}`,
    "",
    "Your app's .env:",
    "",
    `TRACKING_URL=${url}`,
    `TRACKING_CLIENT_ID=${clientId}`,
    `TRACKING_API_KEY=${apiKey}`,
    "",
    "The first event, a click:",
    "",
    `npx express-affiliate doctor --base-url ${url} --client-id ${clientId}${key} --send-test-click`,
    "",
  ];
}

const text = { type: "string" } as const;
const options = {
  port: { ...text, default: "4010" },
  "inspector-port": text,
  host: text,
  db: text,
  "api-key": text,
  "client-id": text,
  "require-key-for": text,
  "no-snippet-session": { type: "boolean" },
  help: { type: "boolean", short: "h" },
} as const;
type Flags = ReturnType<typeof parseArgs<{ options: typeof options }>>["values"];

function toOptions(flags: Flags): SandboxOptions {
  const list = flags["require-key-for"];
  const port = Number(flags.port);
  return {
    port,
    inspectorPort: Number(flags["inspector-port"] ?? (port === 0 ? 0 : port + 1)),
    host: flags.host,
    file: flags.db,
    apiKey: flags["api-key"],
    clientId: flags["client-id"] === undefined ? undefined : Number(flags["client-id"]),
    requireKeyFor: list === undefined ? undefined : list === "none" ? [] : list.split(","),
    snippetSession: !flags["no-snippet-session"],
  } as SandboxOptions;
}
