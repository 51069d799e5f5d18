import { once } from "node:events";
import { createInterface } from "node:readline/promises";

/** What a command runs with. */
export interface Terminal {
  stdout(line: string): void;
  stderr(line: string): void;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Asks a yes-or-no question; absent if there is no person. */
  readonly ask?: ((question: string) => Promise<boolean>) | undefined;
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
    const answer = await Promise.race([lines.question(`${question} [y/N] `).catch(() => ""), closed]);
    return /^y(es)?$/i.test(answer.trim());
  } finally {
    lines.close();
  }
}
