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

const MARKS: Record<Finding["type"], ["green" | "red" | "yellow" | "dim", string]> = {
  well: ["green", "ok     "],
  wrong: ["red", "WRONG  "],
  note: ["yellow", "note   "],
  "not-done": ["dim", "-      "],
};

/** Prints a finding, without control characters, or a line as it is. */
export function print(line: Finding | string, { stdout }: Terminal): void {
  stdout(typeof line === "string" ? line : `${styleText(...MARKS[line.type])} ${printable(line.text)}`);
}

/** `1 event`, `2 events`. */
export function countOf(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

export function timeOf(ms: number): string {
  return new Date(ms).toISOString();
}
