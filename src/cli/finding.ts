import { printable } from "../shared/printable.js";
import { hasColors, type Terminal, wrapText } from "./terminal.js";

/** What a check found, in one line for a person. */
export interface CheckResult {
  readonly type: "well" | "wrong" | "note" | "not-done";
  readonly text: string;
}

export const well = (text: string): CheckResult => ({ type: "well", text });
export const wrong = (text: string): CheckResult => ({ type: "wrong", text });
export const note = (text: string): CheckResult => ({ type: "note", text });
export const notDone = (text: string): CheckResult => ({ type: "not-done", text });

export type Color = keyof typeof COLORS;

const COLORS = { green: "\u001b[32m", red: "\u001b[31m", yellow: "\u001b[33m", dim: "\u001b[2m" };

const MARKS: Record<CheckResult["type"], { mark: string; color: Color }> = {
  well: { mark: "ok     ", color: "green" },
  wrong: { mark: "WRONG  ", color: "red" },
  note: { mark: "note   ", color: "yellow" },
  "not-done": { mark: "-      ", color: "dim" },
};

/** The finding as a line on the terminal, without control characters: the text may repeat the service's words. */
export function lineOf({ type, text }: CheckResult, terminal: Terminal): string {
  const { mark, color } = MARKS[type];
  return `${painted(mark, color, terminal)} ${wrapText(printable(text), mark.length + 1, terminal)}`;
}

/** The text in a colour, on a terminal that has colours. */
export function painted(text: string, color: Color, terminal: Terminal): string {
  return hasColors(terminal) ? `${COLORS[color]}${text}\u001b[0m` : text;
}
