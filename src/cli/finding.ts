import { printable } from "../shared/printable.js";
import { hasColors, type Terminal, wrapped } from "./terminal.js";

/** What a check found out, in one line for a person. */
export interface Finding {
  readonly is: "well" | "wrong" | "note" | "not-done";
  readonly text: string;
}

export const well = (text: string): Finding => ({ is: "well", text });
export const wrong = (text: string): Finding => ({ is: "wrong", text });
export const note = (text: string): Finding => ({ is: "note", text });
export const notDone = (text: string): Finding => ({ is: "not-done", text });

export type Color = keyof typeof COLORS;

const COLORS = { green: "\u001b[32m", red: "\u001b[31m", yellow: "\u001b[33m", dim: "\u001b[2m" };

const MARKS: Record<Finding["is"], { mark: string; color: Color }> = {
  well: { mark: "ok     ", color: "green" },
  wrong: { mark: "WRONG  ", color: "red" },
  note: { mark: "note   ", color: "yellow" },
  "not-done": { mark: "-      ", color: "dim" },
};

/** The finding as a line on the terminal. It may repeat what a service said. */
export function lineOf({ is, text }: Finding, terminal: Terminal): string {
  const { mark, color } = MARKS[is];
  return `${painted(mark, color, terminal)} ${wrapped(printable(text), mark.length + 1, terminal)}`;
}

/** The text in a colour, where a person is looking. */
export function painted(text: string, color: Color, terminal: Terminal): string {
  return hasColors(terminal) ? `${COLORS[color]}${text}\u001b[0m` : text;
}
