import type { FieldReader } from "./field-reader.js";
import type { Pseudonym } from "./pseudonyms.js";
import type { Attribution } from "./visitor-ids.js";

/** What differs from kind to kind: one row of the table in `kinds.ts`. */
export interface KindRow<Data extends Attribution> {
  /** Below `/api/v1/tracking/`. Of two, the first takes the events with a click id. */
  readonly endpoints: readonly [string, string?];
  /** The default of the option `delivery.ambiguous`. */
  readonly ifMaybeTaken: "retry" | "hold";
  /** If it needs a click id or a session id. `unless-by-email`: not if `matchByEmail` is set. */
  readonly needsVisitorId: "always" | "unless-by-email" | "never";
  /**
   * How long, in milliseconds, and how many ids of delivered events are known at most. The shares of
   * all kinds add up to 1.
   */
  readonly remembered: { readonly ms: number; readonly most: number; readonly shareOfSpace: number };
  /** The field with the customer's address: `erase` finds the events of a person by it. */
  readonly emailField: EmailField<Exclude<keyof Data, keyof Attribution>>;
  /**
   * Reads the data from a host's report. `ids` are its visitor's. It asks for every field, even
   * after a wrong one. Spreads come last: in Node 20, adding to a spread object takes microseconds.
   */
  readonly read: (reader: FieldReader, ids: Attribution) => Data;
  /**
   * The dedupe key: events of one client id with the same key are one. Or why it is no event. Its
   * digest is shown: personal data goes in as its pseudonym.
   */
  readonly key: (data: Data, now: number, pseudonym: Pseudonym) => string | InvalidInput;
}

/** A field that is named like an e-mail address must be the `emailField`. */
type EmailField<Field, Named = Extract<Field, "email" | `${string}Email`>> = [Named] extends [never]
  ? Field | null
  : Named;

/** An id of the host's: `"o1"`, 7, 7n, or an object with such a text, as an ObjectId. @inline */
export type HostId = string | number | bigint | object;

// Chosen: no real e-mail address, name or id is longer.
export const LONGEST_EMAIL = 320;
export const LONGEST_TEXT = 256;

/** For `remembered`: as long as there is space. */
export const UNBOUNDED = { ms: Number.POSITIVE_INFINITY, most: Number.POSITIVE_INFINITY };

/** Why a report is no event. It shows no value but an amount or the text of a missing id. */
export interface InvalidInput {
  /** Names the field. */
  readonly invalid: string;
  /** Set if it is no mistake: a payment of zero, such as a trial or a free invoice. */
  readonly skip?: "zero";
}
