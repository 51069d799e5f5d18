import { styleText } from "node:util";
import { printable } from "../shared/printable.js";
import type { Terminal } from "./terminal.js";

export interface CheckResult {
  readonly type: "well" | "wrong" | "note" | "not-done";
  readonly text: string;
}

export const well = (text: string): CheckResult => ({ type: "well", text });
export const wrong = (text: string): CheckResult => ({ type: "wrong", text });
export const note = (text: string): CheckResult => ({ type: "note", text });
export const notDone = (text: string): CheckResult => ({ type: "not-done", text });

const MARKS = {
  well: ["ok     ", "green"],
  wrong: ["WRONG  ", "red"],
  note: ["note   ", "yellow"],
  "not-done": ["-      ", "dim"],
} as const;

/** Prints a finding, or a line whose parts are `painted`. */
export function print(line: CheckResult | string, { stdout }: Terminal): void {
  stdout(typeof line === "string" ? line : lineOf(line));
}

/** Without the control characters that the service may have sent. */
function lineOf({ type, text }: CheckResult): string {
  const [mark, color] = MARKS[type];
  return `${painted(mark, color)} ${printable(text)}`;
}

/** In this colour, if standard output has colours. */
export function painted(text: string, color: "green" | "red" | "yellow" | "dim"): string {
  // Before Node 22.8, `styleText` does not ask.
  return process.stdout.hasColors?.() ? styleText(color, text) : text;
}
