import { LEAST_URGENT_FIRST } from "../conversion/kinds.js";

/** What warnings are about. Each kind has its own share of the log, so none keeps another out. */
export const KINDS = [
  ...LEAST_URGENT_FIRST.map((kind) => `dropped ${kind}` as const),
  "dead",
  "paused",
  "refused",
  "unreported",
  "listener",
  "consent",
  "session",
  "attributionOf",
  "onClick",
  "keepClickId",
  "isBot",
  "waitUntil",
] as const;
export type Kind = (typeof KINDS)[number];

/** The most different lines of one kind within a minute. */
export const MOST_OF_A_KIND = 10;
/** The most lines of all kinds together within a minute. */
export const MOST_LINES = KINDS.length * MOST_OF_A_KIND;

const MINUTE_MS = 60_000;
const LONGEST = 500;

/** A text without its quoted values and numbers, which differ from event to event. */
export function wordsOf(text: string): string {
  return text
    .slice(0, LONGEST)
    .replace(/"(?:[^"\\]|\\[\s\S])*"?/g, '""')
    .replace(/\d+/g, "0");
}

/** Each line once a minute, and not too many different ones. */
export function createRateLimit() {
  const shares = Object.fromEntries(
    KINDS.map((kind) => [kind, { written: new Map() as Share["written"], others: 0 }]),
  ) as Record<Kind, Share>;

  /** @returns what to add to the line, or `undefined` if it is not written. */
  return function admit(kind: Kind, says: string, now: number): string | undefined {
    const share = shares[kind];
    const { written } = share;
    const same = written.get(says);
    if (same && now < same.until) {
      same.more++;
      return undefined;
    }
    const recent = [...written.values()].filter(({ until }) => now < until);
    if (recent.length >= MOST_OF_A_KIND) {
      share.others++;
      return undefined;
    }
    // To the end: the oldest is the first.
    written.delete(says);
    written.set(says, { until: now + MINUTE_MS, more: 0 });
    for (const [oldest, { more }] of written) {
      if (written.size <= MOST_OF_A_KIND) break;
      written.delete(oldest);
      share.others += more;
    }
    const { others } = share;
    share.others = 0;
    return (
      (same?.more ? ` (and ${same.more} more like this since the last such line)` : "") +
      (others ? ` (and ${others} others that were left out)` : "")
    );
  };
}

interface Share {
  /** `more`: how often the line has been left out since. */
  readonly written: Map<string, { readonly until: number; more: number }>;
  /** How many lines were left out that have no entry. */
  others: number;
}
