import { stripVTControlCharacters, styleText } from "node:util";
import { printable } from "../shared/printable.js";
import { hasColors, type Terminal, wrapText } from "./terminal.js";

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

/** Prints a finding, or a line whose parts are `painted`; in colours if the terminal has any. */
export function print(line: CheckResult | string, terminal: Terminal): void {
  const text = typeof line === "string" ? line : lineOf(line, terminal);
  terminal.stdout(hasColors(terminal) ? text : stripVTControlCharacters(text));
}

/** Without the control characters that the service may have sent. */
function lineOf({ type, text }: CheckResult, terminal: Terminal): string {
  const [mark, color] = MARKS[type];
  return `${painted(mark, color)} ${wrapText(printable(text), mark.length + 1, terminal)}`;
}

export function painted(text: string, color: "green" | "red" | "yellow" | "dim"): string {
  // Whether the terminal has colours is for `print` to decide.
  return styleText(color, text, { validateStream: false });
}
