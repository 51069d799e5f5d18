#!/usr/bin/env node
import { VERSION } from "../shared/version.js";
import { didYouMean, readArguments } from "./arguments.js";
import { askThrough, type Terminal } from "./terminal.js";

const usage = `Usage: express-affiliate <command> [options]

  sandbox      runs the tracking service on this machine, to develop and test
  doctor       tells whether an integration with the tracking service works
  outbox       shows what waits in an outbox and what was given up; retries or
               discards it
  migrations   prints the SQL of the Postgres or MySQL outbox's tables

  --version    prints the version of this package
  --help       prints this

express-affiliate <command> --help tells more.`;

const COMMANDS = ["sandbox", "doctor", "outbox", "migrations", "--version", "--help"];

const terminal: Terminal = {
  // Not `console.log`, which ignores errors: a list cut short by a full disk would look whole.
  stdout: (line) => void process.stdout.write(`${line}\n`),
  stderr: console.error,
  env: process.env,
  ask:
    process.stdin.isTTY && process.stdout.isTTY
      ? (question) => askThrough(process.stdin, process.stdout, question)
      : undefined,
};

/** Imports a command only to run it: it loads much, and may need a peer dependency. */
async function run([command, ...args]: string[]): Promise<number> {
  switch (command) {
    case "sandbox":
      return runSandbox(args);
    case "doctor":
      return (await import("./doctor/command.js")).doctorCommand(args, terminal);
    case "outbox":
      return (await import("./outbox/command.js")).outboxCommand(args, terminal);
    case "migrations":
      return (await import("./migrations.js")).migrationsCommand(args, terminal);
    case "--version":
    case "-v":
      terminal.stdout(VERSION);
      return 0;
    case "--help":
    case "-h":
      terminal.stdout(usage);
      return 0;
    default:
      terminal.stderr(command === undefined ? usage : unknown(command));
      return 2;
  }
}

function unknown(command: string): string {
  const meant = didYouMean(command, COMMANDS);
  return `express-affiliate: there is no command ${command}${meant}\nexpress-affiliate --help lists all`;
}

async function runSandbox(args: string[]): Promise<number> {
  const { sandboxCommand } = await import("../sandbox/command.js");
  const running = await sandboxCommand(args, { ...terminal, parse: readArguments });
  if (typeof running === "number") return running;
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => void running.close());
  return 0;
}

process.stdout.on("error", ({ code, message }: NodeJS.ErrnoException) => {
  // The reader, such as `head`, has closed the pipe.
  if (code === "EPIPE") return;
  terminal.stderr(`express-affiliate: ${message}`);
  process.exitCode = 1;
});
void run(process.argv.slice(2)).then((code) => {
  process.exitCode ||= code;
});
