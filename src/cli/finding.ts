import { styleText } from "node:util";
import { printable } from "../shared/printable.js";
import type { Terminal } from "./terminal.js";

export interface Finding {
  readonly type: "well" | "wrong" | "note" | "not-done";
  readonly text: string;
}

export const well = (text: string): Finding => ({ type: "well", text });
export const wrong = (text: string): Finding => ({ type: "wrong", text });
export const note = (text: string): Finding => ({ type: "note", text });
export const notDone = (text: string): Finding => ({ type: "not-done", text });

const MARKS = {
  well: ["ok     ", "green"],
  wrong: ["WRONG  ", "red"],
  note: ["note   ", "yellow"],
  "not-done": ["-      ", "dim"],
} as const;

function markOf({ type }: Finding): string {
  const [mark, color] = MARKS[type];
  return painted(mark, color);
}

/** Prints a finding, without control characters, or a line whose parts are `painted`. */
export function print(line: Finding | string, { stdout }: Terminal): void {
  stdout(typeof line === "string" ? line : `${markOf(line)} ${printable(line.text)}`);
}

/** In this colour, if standard output has colours. */
export function painted(text: string, color: "green" | "red" | "yellow" | "dim"): string {
  // Before Node 22.8, `styleText` does not ask.
  return process.stdout.hasColors?.() ? styleText(color, text) : text;
}

/** `1 event`, `2 events`. */
export function countOf(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

/** A time in ISO 8601. */
export function timeOf(ms: number): string {
  return new Date(ms).toISOString();
}
