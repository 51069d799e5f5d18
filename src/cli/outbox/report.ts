import type { Terminal } from "../terminal.js";

/** What the command has to say, in either form. */
export interface Report {
  readonly isWell: boolean;
  /** The one document of `--json`. */
  readonly json: object;
  readonly lines: (terminal: Terminal) => readonly string[];
}
