import type { Clock } from "../shared/clock.js";
import { harmless } from "../shared/harmless.js";

/** Any of console, pino, winston. Each line is one string. */
export interface Logger {
  /** What was skipped. */
  debug?(line: string): unknown;
  /** What has recovered. Outside production also why something is not reported, once each. */
  info?(line: string): unknown;
  /** What the host should know, or do something about. */
  warn(line: string): unknown;
  /** Called if there is no `warn`, as with winston's syslog levels. */
  warning?(line: string): unknown;
  /** What the package itself could not do. */
  error(line: string): unknown;
}

// A host may pass on what a stranger sent, with any field names.
const MOST_NEWS = 50;

/** Writes to the host's logger, whose errors do no harm. `shown` removes what must not be shown. */
export function createLog(parts: { logger: Logger; clock: Clock; shown: (text: string) => string }) {
  const { logger, clock, shown } = parts;
  /** Of each kind: until when each line is not written again, and how many were left out since. */
  const shares = new Map<string, { until: Map<string, number>; leftOut: number }>();
  const loggedOnce = new Set<string>();
  const known = new Set<string>();

  function log(level: "debug" | "info" | "warn" | "error", line: string): void {
    const name = level === "warn" && !logger.warn ? "warning" : level;
    if (logger[name]) harmless(() => logger[name]?.(`express-affiliate: ${shown(line)}`));
  }

  function once(subject: string, line: string, level: "info" | "warn" = "warn"): void {
    if (loggedOnce.has(subject)) return;
    loggedOnce.add(subject);
    log(level, line);
  }

  return {
    log,
    /**
     * Writes lines that say the same (`says`) once a minute, and not too many different ones. The
     * next line says how many were left out. Each kind has its own share of the log, so that none
     * keeps another out.
     */
    warn(kind: string, line: string, says = wordsOf(line)): void {
      const now = clock.monotonic();
      const share = shares.get(kind) ?? { until: new Map(), leftOut: 0 };
      shares.set(kind, share);
      for (const [written, until] of share.until) if (until <= now) share.until.delete(written);
      if (share.until.has(says) || share.until.size >= MOST_OF_A_KIND) {
        share.leftOut++;
        return;
      }
      share.until.set(says, now + MINUTE_MS);
      log("warn", share.leftOut > 0 ? `${line} (and ${share.leftOut} more that were left out)` : line);
      share.leftOut = 0;
    },
    /** Writes the line once, not in production: for what is no error, but puzzles a developer. */
    hint(subject: string, line: string): void {
      if (process.env.NODE_ENV === "production") return;
      once(subject, `${line} (said once, and not in production)`, "info");
    },
    /** Writes one line for each subject, in production, too: for a mistake in the host's set-up. */
    once,
    /** Whether something was not said yet. After 50 things, always `false`. */
    isNews(what: string): boolean {
      if (known.has(what) || known.size === MOST_NEWS) return false;
      known.add(what);
      return true;
    },
  };
}

/** The most different lines of one kind within a minute. */
export const MOST_OF_A_KIND = 10;

const MINUTE_MS = 60_000;
const LONGEST = 500;

/** A text without its quoted values and numbers, which differ from event to event. */
export function wordsOf(text: string): string {
  return text
    .slice(0, LONGEST)
    .replace(/"(?:[^"\\]|\\[\s\S])*"?/g, '""')
    .replace(/\d+/g, "0");
}
