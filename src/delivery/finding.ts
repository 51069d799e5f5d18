import type { PauseReason } from "../journal/notices.js";

/** What an attempt says of the service. */
export type Finding =
  /** An event was read and decided on. */
  | { readonly type: "pass" }
  /** An event was not taken. */
  | ({ readonly type: "failure" } & Failure)
  | { readonly type: "pause"; readonly forMs: number }
  /** There was no connection. */
  | { readonly type: "unreachable" }
  /** The attempt says something of its event alone. */
  | { readonly type: "nothing" };

/** An attempt that did not deliver its event. */
export interface Failure {
  readonly visitor: string;
  readonly reason: PauseReason;
  /** Whether the event may have been taken. */
  readonly isAmbiguous: boolean;
  /** Whether a gateway says that the service behind it gave no answer. */
  readonly isOfGateway: boolean;
}

/** What the status endpoint said. `sick`: it answered with an error. `gateway`: a gateway says that the service behind it gave no answer. */
export type StatusAnswer = "well" | "sick" | "gateway" | "silent" | "unreachable";
