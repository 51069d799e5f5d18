import { errorFrom } from "../../shared/errors.js";
import { printable, printableJson } from "../../shared/printable.js";
import { refuseArguments } from "../arguments.js";
import { print } from "../finding.js";
import type { Terminal } from "../terminal.js";
import { discard, list, type OpenOutbox, type Report, retry, status } from "./actions.js";
import { help, type OutboxArguments, readOutboxArguments } from "./arguments.js";
import { backup, hold } from "./backups.js";
import { openOutboxAt, problemAt } from "./open.js";
import { passwordHider } from "./passwords.js";
import { person } from "./person.js";

/** Resolves with the exit code. */
export async function outboxCommand(args: string[], terminal: Terminal): Promise<number> {
  const { stdout, stderr, env } = terminal;
  let given: OutboxArguments | undefined;
  try {
    given = readOutboxArguments(args, env);
    if (given?.asks && (given.json || !terminal.ask))
      throw new Error(
        "discard --all removes every dead letter that is meant; with --yes it does so without asking",
      );
  } catch (error) {
    return refuseArguments("outbox", passwordHider(args)(errorFrom(error).message), terminal);
  }
  if (!given) {
    stdout(help);
    return 0;
  }
  const { json } = given;
  try {
    const report = await carryOut(given, terminal);
    if (json) stdout(printableJson(report.json));
    else for (const line of report.lines) print(line, terminal);
    return report.isWell ? 0 : 1;
  } catch (thrown) {
    const error = problemAt(given.location, errorFrom(thrown));
    if (json) stdout(printableJson({ error }));
    else stderr(error.message.split("\n").map(printable).join("\n"));
    return 1;
  }
}

async function carryOut(given: OutboxArguments, { ask }: Terminal): Promise<Report> {
  const outbox = openOutboxAt(given.location, given.clientId);
  try {
    return await act(outbox, given, ask);
  } finally {
    await outbox.close();
  }
}

function act(outbox: OpenOutbox, given: OutboxArguments, ask: Terminal["ask"]): Promise<Report> {
  switch (given.action) {
    case "status":
      return status(outbox);
    case "list":
      return list(outbox, given);
    case "retry":
      return retry(outbox, given);
    case "discard":
      return discard(outbox, given, given.asks ? { ask } : undefined);
    case "person":
      return person(outbox, given.word, given.erase);
    case "hold":
      return hold(outbox);
    case "backup":
      return backup(outbox, given.word);
  }
}
