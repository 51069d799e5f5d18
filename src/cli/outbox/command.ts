import { AffiliateError, errorCodeOf, errorFrom } from "../../shared/errors.js";
import { printable, printableJson } from "../../shared/printable.js";
import { refuseArguments } from "../arguments.js";
import type { Terminal } from "../terminal.js";
import { help, type Order, orderFrom, type Place } from "./arguments.js";
import { discard, kept, mayDiscard, retry } from "./decision.js";
import { openDisk } from "./disk.js";
import { list } from "./list.js";
import type { OpenOutbox } from "./outbox.js";
import { passwordHider } from "./passwords.js";
import { openPostgres } from "./postgres.js";
import type { Report } from "./report.js";
import { status } from "./status.js";

/** `express-affiliate outbox`. Resolves with the exit code. */
export async function outboxCommand(args: string[], terminal: Terminal): Promise<number> {
  const { stdout, stderr, env } = terminal;
  let order: Order | undefined;
  try {
    order = orderFrom(args, env);
    if (order && mustAsk(order) && (order.json || !terminal.ask))
      throw new Error("discard --all forgets every dead letter; with --yes it does so without asking");
  } catch (error) {
    return refuseArguments("outbox", passwordHider(args)(errorFrom(error).message), terminal);
  }
  if (!order) {
    stdout(help);
    return 0;
  }
  const { json } = order;
  try {
    const report = await carryOut(order, terminal);
    for (const line of json ? [printableJson(report.json)] : report.lines(terminal)) stdout(line);
    return report.isWell ? 0 : 1;
  } catch (thrown) {
    const error = problemOf(errorFrom(thrown), order.place);
    if (json) stdout(printableJson({ error }));
    else stderr(error.message.split("\n").map(printable).join("\n"));
    return 1;
  }
}

function mustAsk({ action, all, yes }: Order): boolean {
  return action === "discard" && all && !yes;
}

async function carryOut(order: Order, { ask }: Terminal): Promise<Report> {
  const outbox = open(order.place);
  try {
    if (mustAsk(order) && !(await mayDiscard(outbox, ask))) return kept;
    return await act(outbox, order);
  } finally {
    await outbox.close();
  }
}

function open(place: Place): OpenOutbox {
  return "url" in place ? openPostgres(place.url, place.schema) : openDisk(place.directory);
}

function act(outbox: OpenOutbox, order: Order): Promise<Report> {
  switch (order.action) {
    case "status":
      return status(outbox);
    case "list":
      return list(outbox, order.limit);
    case "retry":
      return retry(outbox, order);
    case "discard":
      return discard(outbox, order);
  }
}

function problemOf(error: Error, place: Place): { code: string; message: string } {
  const code = errorCodeOf(error);
  if (error instanceof AffiliateError) return { code, message: error.message };
  const hide = passwordHider("url" in place ? [place.url] : []);
  // Node's own errors of several addresses at once say nothing.
  return { code, message: `outbox: ${hide(error.message || code)}` };
}
