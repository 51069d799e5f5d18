import type { Attribution } from "./attribution.js";
import type { FieldReader } from "./field-reader.js";

/** What differs from kind to kind: one row of the table in `kinds.ts`. */
export interface KindRow<Data extends Attribution> {
  /** Below `/api/v1/tracking/`. Of two, the first takes the events with a click id. */
  readonly endpoints: readonly [string, string?];
  /** The default of the option `delivery.ambiguous`. */
  readonly ifMaybeTaken: "retry" | "hold";
  /** Whether a report needs a click id or a session id: `unless-by-email` allows `matchByEmail`. */
  readonly needsIds: "always" | "unless-by-email" | "never";
  /**
   * How long, in milliseconds, and how many ids of delivered events are known at most. The shares of
   * all kinds add up to 1.
   */
  readonly remembered: { readonly ms: number; readonly most: number; readonly shareOfSpace: number };
  /** The field with the customer's address: `erase` finds the events of a person by it. */
  readonly emailField: EmailField<Exclude<keyof Data, keyof Attribution>>;
  /**
   * Reads the data out of a host's report. `ids` are what is known of its visitor; they are spread
   * last, because Node 20 takes microseconds to add properties to a spread object.
   */
  readonly read: (report: FieldReader, ids: Attribution) => Data;
  /** What makes it the same event for one client id; or why it is none. */
  readonly key: (data: Data, now: number) => string | InvalidInput;
}

/** If a field is named like an address, it is the one. */
type EmailField<Field, Named = Extract<Field, "email" | `${string}Email`>> = [Named] extends [never]
  ? Field | null
  : Named;

/** Why an input is no event. The reason names the field; it shows no value but an amount. */
export interface InvalidInput {
  readonly invalid: string;
  /** Set if it is no mistake: a payment of zero, such as a trial or a free invoice. */
  readonly skip?: "zero";
}

// Chosen: no one's address, name or id is longer.
export const LONGEST_EMAIL = 320;
export const LONGEST_TEXT = 256;

/** For `remembered`: as long as there is space. */
export const UNBOUNDED = { ms: Number.POSITIVE_INFINITY, most: Number.POSITIVE_INFINITY };
