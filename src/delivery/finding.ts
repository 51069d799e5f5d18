import type { PauseReason } from "../journal/notices.js";

/** What an attempt says of the service. */
export type Finding =
  /** An event was read and decided on. */
  | { readonly type: "pass" }
  | ({ readonly type: "failure" } & Failure)
  | { readonly type: "pause"; readonly forMs: number }
  | { readonly type: "unreachable" }
  /** The attempt says something about its event alone. */
  | { readonly type: "nothing" };

export interface Failure {
  readonly visitor: string;
  readonly reason: PauseReason;
  /** Whether the event may have been taken. */
  readonly isAmbiguous: boolean;
  readonly isOfGateway: boolean;
}

/** What the status endpoint said. `sick`: 5xx, or a pause. `gateway`: see `isOfGateway`. */
export type StatusAnswer = "well" | "sick" | "gateway" | "silent" | "unreachable";
