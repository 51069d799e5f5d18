import { parseArgs } from "node:util";
import { nearestWord } from "../shared/nearest.js";
import type { Terminal } from "./terminal.js";

/**
 * Node's `parseArgs`. For an unknown option, its error names the nearest known one.
 *
 * @throws Error where the arguments are wrong; it may repeat a part of them.
 */
export const readArguments: typeof parseArgs = (config) => {
  const options = config?.options ?? {};
  const { tokens } = parseArgs({ ...config, strict: false, tokens: true } as const);
  for (const token of tokens ?? []) {
    if (token.kind !== "option" || Object.hasOwn(options, token.name)) continue;
    const nearest = nearestWord(token.name, Object.keys(options));
    const isShort = Object.values(options).some(({ short }) => short === token.name);
    if (isShort) continue;
    throw new Error(`there is no option ${token.rawName}${nearest ? `; did you mean --${nearest}?` : ""}`);
  }
  return parseArgs(config);
};

/** Prints what is wrong with a command's arguments. Returns the exit code: 2. */
export function refuseArguments(command: string, message: string, { stderr }: Terminal): 2 {
  stderr(`${command}:${message.startsWith("\n") ? "" : " "}${message}`);
  stderr(`express-affiliate ${command} --help lists what it takes`);
  return 2;
}
