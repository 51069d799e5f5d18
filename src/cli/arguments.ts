import { parseArgs } from "node:util";
import { nearestWord } from "../shared/nearest.js";
import type { Terminal } from "./terminal.js";

/**
 * Node's `parseArgs`; its error for an unknown option names the nearest known one.
 *
 * @throws Error if the arguments are wrong. Its message may repeat a part of them.
 */
export const readArguments: typeof parseArgs = (config) => {
  const options = config?.options ?? {};
  const { tokens } = parseArgs({ ...config, strict: false, tokens: true } as const);
  for (const token of tokens ?? []) {
    if (token.kind !== "option" || Object.hasOwn(options, token.name)) continue;
    throw new Error(
      `there is no option ${token.rawName}${didYouMean(token.name, Object.keys(options), "--")}`,
    );
  }
  return parseArgs(config);
};

/** For the end of an error's message; nothing if no word is similar. */
export function didYouMean(word: string, words: readonly string[], before = ""): string {
  const nearest = nearestWord(word, words);
  return nearest ? `; did you mean ${before}${nearest}?` : "";
}

/** Prints what is wrong. Returns the exit code. */
export function refuseArguments(command: string, message: string, { stderr }: Terminal): 2 {
  stderr(`${command}:${message.startsWith("\n") ? "" : " "}${message}`);
  stderr(`express-affiliate ${command} --help lists what it takes`);
  return 2;
}
