import type { DeadLetter } from "../../outbox/outbox.js";
import { lineOf, note, painted, well } from "../finding.js";
import type { Terminal } from "../terminal.js";
import type { OpenOutbox } from "./outbox.js";
import type { Report } from "./report.js";
import { countOf, detailsOf, withoutCustomer } from "./words.js";

/** The oldest dead letters, and whether there are more. */
export async function list(outbox: OpenOutbox, limit: number): Promise<Report> {
  const found = await outbox.deadLetters.list({ limit: limit + 1 });
  const deadLetters = found.slice(0, limit);
  const more = found.length > limit;
  return {
    isWell: true,
    json: { deadLetters, more },
    lines: (terminal) => [
      ...deadLetters.flatMap((letter) => linesOf(letter, terminal)),
      ...(deadLetters.length === 0 ? [lineOf(well("no dead letters"), terminal)] : []),
      ...(more ? [lineOf(note("there are more: --limit N lists them"), terminal)] : []),
    ],
  };
}

function linesOf(letter: DeadLetter, terminal: Terminal): string[] {
  const { id, kind, event, reason, status, code, message, attempts, createdAt, diedAt } = letter;
  const said = [status, code].filter((each) => each !== undefined && each !== "").join(" ");
  const words = [said, message].filter(Boolean).join(": ");
  const times = `happened ${timeOf(createdAt)}, given up ${timeOf(diedAt)} after ${countOf(attempts, "attempt")}`;
  return [
    `${id}  ${kind}  ${painted(reason, "yellow", terminal)}`,
    `    ${detailsOf(event)}`,
    ...(words === "" ? [] : [`    ${withoutCustomer(words, event)}`]),
    `    ${painted(times, "dim", terminal)}`,
  ];
}

function timeOf(ms: number): string {
  return new Date(ms).toISOString();
}
