import { once } from "node:events";
import { createInterface } from "node:readline/promises";

/** What a command runs with. */
export interface Terminal {
  stdout(line: string): void;
  stderr(line: string): void;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Whether the output goes to a terminal. */
  readonly isTerminal: boolean;
  /** Default: 80. */
  readonly columns?: number | undefined;
  /** Asks a yes-or-no question; absent if there is no person. */
  readonly ask?: ((question: string) => Promise<boolean>) | undefined;
}

export function hasColors({ isTerminal, env }: Terminal): boolean {
  return isTerminal && !env.NO_COLOR && env.TERM !== "dumb";
}

/** Breaks lines between words on a terminal. Later lines begin with `indent` spaces. */
export function wrapText(text: string, indent: number, { isTerminal, columns }: Terminal): string {
  if (!isTerminal) return text;
  // Some terminals report a width of 0.
  const width = columns || 80;
  const lines = [""];
  for (const word of text.split(" ")) {
    const line = lines.at(-1) as string;
    if (line === "") lines[lines.length - 1] = word;
    else if (indent + line.length + 1 + word.length <= width) lines[lines.length - 1] = `${line} ${word}`;
    else lines.push(word);
  }
  return lines.join(`\n${" ".repeat(indent)}`);
}

/** `y` and `yes` are yes. Anything else, Ctrl-C, and the end of the input, is no. */
export async function askThrough(
  input: NodeJS.ReadableStream,
  output: NodeJS.WritableStream,
  question: string,
): Promise<boolean> {
  const lines = createInterface({ input, output });
  const closed = once(lines, "close").then(() => "");
  try {
    const asked = lines.question(`${question} [y/N] `).catch(() => "");
    const answer = await Promise.race([asked, closed]);
    return /^y(es)?$/i.test(answer.trim());
  } finally {
    lines.close();
  }
}
