#!/usr/bin/env node
import { VERSION } from "../shared/version.js";
import { didYouMean } from "./arguments.js";
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

/** Each imports its command only to run it: it loads much, and may need a peer dependency. */
const COMMANDS: Readonly<Record<string, (args: string[]) => number | Promise<number>>> = {
  sandbox: runSandbox,
  doctor: async (args) => (await import("./doctor/command.js")).doctorCommand(args, terminal),
  outbox: async (args) => (await import("./outbox/command.js")).outboxCommand(args, terminal),
  migrations: async (args) => (await import("./migrations.js")).migrationsCommand(args, terminal),
  "--version": () => say(VERSION),
  "-v": () => say(VERSION),
  "--help": () => say(usage),
  "-h": () => say(usage),
};

function say(text: string): 0 {
  terminal.stdout(text);
  return 0;
}

async function run([command, ...args]: string[]): Promise<number> {
  const found = Object.hasOwn(COMMANDS, command ?? "") && COMMANDS[command ?? ""];
  if (found) return found(args);
  const meant = didYouMean(command ?? "", Object.keys(COMMANDS));
  const unknown = `express-affiliate: there is no command ${command}${meant}\nexpress-affiliate --help lists all`;
  terminal.stderr(command === undefined ? usage : unknown);
  return 2;
}

async function runSandbox(args: string[]): Promise<number> {
  const { sandboxCommand } = await import("./sandbox.js");
  const running = await sandboxCommand(args, terminal);
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
