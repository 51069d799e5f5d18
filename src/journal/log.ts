import type { Clock } from "../shared/clock.js";
import { harmless } from "../shared/harmless.js";
import { createRation, type Kind, wordsOf } from "./ration.js";

/** Any of console, pino, winston. Each line is one string. */
export interface Logger {
  /** What was skipped. */
  debug?(line: string): unknown;
  /** What has recovered; and outside production, once each, why something is not reported. */
  info?(line: string): unknown;
  /** What the host should know, or do something about. */
  warn(line: string): unknown;
  /** Called where there is no `warn`, as with winston's syslog levels. */
  warning?(line: string): unknown;
  /** What the package itself could not do. */
  error(line: string): unknown;
}

// A host may pass on what a stranger sent, with any field names.
const MOST_NEWS = 50;

/**
 * Writes lines to the host's logger. An error of the logger does no harm.
 *
 * @param parts.shown removes from a line what must not be shown.
 */
export function createLog(parts: { logger: Logger; clock: Clock; shown: (text: string) => string }) {
  const { logger, clock, shown } = parts;
  const ration = createRation();
  const said = new Set<string>();
  const told = new Set<string>();

  function log(level: "debug" | "info" | "warn" | "error", line: string): void {
    const name = level === "warn" && !logger.warn ? "warning" : level;
    if (logger[name]) harmless(() => logger[name]?.(`express-affiliate: ${shown(line)}`));
  }

  function once(level: "info" | "warn", subject: string, line: string): void {
    if (said.has(subject)) return;
    said.add(subject);
    log(level, line);
  }

  return {
    log,
    /**
     * Writes each line at most once a minute, and only a bounded number of different ones. The next line says how many were left out.
     *
     * @param says what equal lines have in common. Default: the line without its values.
     */
    warn(kind: Kind, line: string, says = wordsOf(line)): void {
      const leftOut = ration(kind, says, clock.now());
      if (leftOut !== undefined) log("warn", line + leftOut);
    },
    /** Writes it once, and not in production. For what is no error, but puzzles a developer. */
    hint(subject: string, line: string): void {
      if (process.env.NODE_ENV === "production") return;
      once("info", subject, `${line} (said once, and not in production)`);
    },
    /** Writes it once for each subject, in production too. For a mistake in the host's set-up. */
    once,
    /** Whether something was not said yet. After 50 things, always `false`. */
    isNews(what: string): boolean {
      if (told.has(what) || told.size === MOST_NEWS) return false;
      told.add(what);
      return true;
    },
  };
}
