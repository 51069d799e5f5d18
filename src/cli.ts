#!/usr/bin/env node
import { doctorCommand } from "./doctor/command.js";
import { migrationsCommand } from "./migrations-command.js";
import { outboxCommand } from "./outbox-command/command.js";
import type { Terminal } from "./terminal.js";
import { VERSION } from "./version.js";

const usage = `Usage: express-affiliate <command> [options]

  sandbox      runs the tracking service on this machine, to develop and test against
  doctor       tells whether an integration with the tracking service works
  outbox       shows what waits in an outbox and what was given up; retries or discards it
  migrations   prints the SQL of the Postgres outbox's tables

express-affiliate <command> --help tells more.`;

const terminal: Terminal = {
  stdout: console.log,
  stderr: console.error,
  env: process.env,
  isTerminal: process.stdout.isTTY === true && process.env.NO_COLOR === undefined,
};

async function run([command, ...args]: string[]): Promise<number> {
  switch (command) {
    case "sandbox":
      return runSandbox(args);
    case "doctor":
      return doctorCommand(args, terminal);
    case "outbox":
      return outboxCommand(args, terminal);
    case "migrations":
      return migrationsCommand(args, terminal);
    case "--version":
      terminal.stdout(VERSION);
      return 0;
    case "--help":
    case "-h":
      terminal.stdout(usage);
      return 0;
    default:
      terminal.stderr(
        command === undefined ? usage : `express-affiliate: there is no such command\n\n${usage}`,
      );
      return 2;
  }
}

async function runSandbox(args: string[]): Promise<number> {
  // Only here, for it may want a peer dependency that the other commands can do without.
  const { sandboxCommand } = await import("./sandbox/command.js");
  const running = await sandboxCommand(args, terminal);
  if (typeof running === "number") return running;
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => void running.close());
  return 0;
}

process.exitCode = await run(process.argv.slice(2));
