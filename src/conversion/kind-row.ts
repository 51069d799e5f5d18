import type { Field } from "./fields.js";
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
  /** The field with the customer's address, if it has one: `erase` finds a person's events by it. */
  readonly emailField: Exclude<keyof Data, keyof Attribution> | null;
  /** What is read of a host's report. Its ids replace those of its visitor. */
  readonly fields: { readonly [Name in Exclude<keyof Data, keyof Attribution>]-?: Field<Data[Name]> } & {
    readonly [Id in keyof Attribution]?: Field<string | undefined>;
  };
  /**
   * The dedupe key: events of one client id with the same key are one. Or why it is no event. Its
   * digest is shown: personal data goes in as its pseudonym.
   */
  readonly key: (data: Data, now: number, pseudonym: Pseudonym) => string | InvalidInput;
}

/** An id of the host's: `"o1"`, 7, 7n, or an object with such a text, as an ObjectId. @inline */
export type HostId = string | number | bigint | object;

/** For `remembered`: as long as there is space. */
export const UNBOUNDED = { ms: Number.POSITIVE_INFINITY, most: Number.POSITIVE_INFINITY };

/** Why a report is no event. It shows no value but an amount or the text of a missing id. */
export interface InvalidInput {
  /** Names the field. */
  readonly invalid: string;
  /** Set if it is no mistake: a payment of zero, such as a trial or a free invoice. */
  readonly skip?: "zero";
}
