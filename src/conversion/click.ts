import { LONGEST_TEXT, reference, text, visitorId } from "./fields.js";
import type { KindRow } from "./kind-row.js";
import type { Attribution } from "./visitor-ids.js";

/** A visit through an affiliate's link (§2.2). Invalid input gives the receipt `rejected`. */
export interface Click {
  /**
   * The affiliate's reference code: any text of 1 to 256 characters without invisible ones, and
   * without white space at its ends or doubled. Sent as it is.
   */
  readonly affiliateReference: string;
  /** The click's own id. Default: the attribution's, otherwise a new UUID. */
  readonly clickId?: string | undefined;
  /** The visitor's session id. Default: the attribution's. */
  readonly sessionId?: string | undefined;
  /** The landing page's address: its first 2,048 characters are kept. */
  readonly clickedUrl?: string | null | undefined;
  /** The page that led to it: its first 2,048 characters are kept. */
  readonly referrerUrl?: string | null | undefined;
  /** The visitor's browser, as its User-Agent header says: the first 512 characters are kept. */
  readonly userAgent?: string | null | undefined;
  /** Label of the traffic's source, such as `newsletter`: the first 256 characters are kept. */
  readonly source?: string | null | undefined;
}

export type ClickData = Attribution & {
  readonly affiliateReference: string;
  readonly clickedUrl?: string | undefined;
  readonly referrerUrl?: string | undefined;
  readonly userAgent?: string | undefined;
  readonly source?: string | undefined;
};

// Chosen: a longer URL or User-Agent is rubbish.
export const LONGEST_URL = 2_048;
export const LONGEST_USER_AGENT = 512;

export const click = {
  endpoints: ["click"],
  ifMaybeTaken: "retry",
  needsVisitorId: "never",
  // Each click has a new id: only a repeated request has the same one, and it comes soon.
  remembered: { ms: 24 * 60 * 60 * 1_000, most: 10_000, shareOfSpace: 0.1 },
  emailField: null,
  fields: {
    affiliateReference: reference,
    clickedUrl: text(LONGEST_URL),
    referrerUrl: text(LONGEST_URL),
    userAgent: text(LONGEST_USER_AGENT),
    source: text(LONGEST_TEXT),
    clickId: visitorId,
    sessionId: visitorId,
  },
  key: ({ clickId }) => `click ${clickId}`,
} as const satisfies KindRow<ClickData>;
