import { parseArgs } from "node:util";
import { errorFrom } from "../shared/errors.js";
import { nearestWord } from "../shared/nearest.js";
import { passwordHider } from "./passwords.js";
import type { Terminal } from "./terminal.js";

/**
 * Node's `parseArgs`; its error for an unknown option names the nearest known one.
 *
 * @throws Error if the arguments are wrong. Its message may repeat a part of them.
 */
export const readArguments: typeof parseArgs = (config) => {
  const { options = {}, allowPositionals } = config ?? {};
  const { tokens } = parseArgs({ ...config, strict: false, tokens: true } as const);
  for (const token of tokens ?? []) {
    // Node's own error would repeat a word that may be a key.
    if (token.kind === "positional" && !allowPositionals) throw new Error("it takes options only");
    if (token.kind === "option" && !Object.hasOwn(options, token.name))
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

/**
 * What `read` makes of the arguments. If it returns nothing, prints the help; if it throws, what is
 * wrong, without the passwords of URLs. Then returns the exit code.
 */
export function understood<Read extends object>(
  command: string,
  options: { args: string[]; help: string; terminal: Terminal; read: () => Read | undefined },
): Read | 0 | 2 {
  const { stdout, stderr } = options.terminal;
  try {
    const read = options.read();
    if (!read) stdout(options.help);
    return read ?? 0;
  } catch (error) {
    const message = passwordHider(options.args)(errorFrom(error).message);
    stderr(`${command}:${message.startsWith("\n") ? "" : " "}${message}`);
    stderr(`express-affiliate ${command} --help lists what it takes`);
    return 2;
  }
}
