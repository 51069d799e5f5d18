import { readFileSync } from "node:fs";
import { parseEnv } from "node:util";
import { errorCodeOf } from "../shared/errors.js";
import type { Terminal } from "./terminal.js";

/**
 * The environment with a file such as `.env`, as `node --env-file` reads it: set variables stay.
 *
 * @throws Error if the file cannot be read.
 */
export function withEnvFile(env: Terminal["env"], file: string | undefined): Terminal["env"] {
  if (file === undefined) return env;
  try {
    return { ...parseEnv(readFileSync(file, "utf8")), ...env };
  } catch (error) {
    throw new Error(`--env-file ${file} cannot be read: ${errorCodeOf(error as Error)}`);
  }
}
