#!/usr/bin/env node
import { VERSION } from "./version.js";

const usage = `Usage: express-affiliate <command> [options]

  sandbox   runs the tracking service on this machine, to develop and test against

express-affiliate <command> --help tells more.`;

async function run([command, ...args]: string[]): Promise<void> {
  switch (command) {
    case "sandbox":
      return runSandbox(args);
    case "--version":
      console.log(VERSION);
      break;
    case "--help":
    case "-h":
      console.log(usage);
      break;
    default:
      console.error(
        command === undefined ? usage : `express-affiliate: there is no command "${command}"\n\n${usage}`,
      );
      process.exitCode = 2;
  }
}

async function runSandbox(args: string[]): Promise<void> {
  const { sandboxCommand } = await import("./sandbox/command.js");
  const running = await sandboxCommand(args, { stdout: console.log, stderr: console.error });
  if (typeof running === "number") {
    process.exitCode = running;
    return;
  }
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => void running.close());
}

await run(process.argv.slice(2));
