import type { Endpoint } from "./endpoints.js";

/** What is paused: the whole service, or one of its endpoints. @inline */
export type PauseScope = "origin" | Endpoint;

/** Why nothing but probes is sent. @inline */
export type PauseReason =
  | "failing"
  | "silent"
  | "throttled"
  | "unauthorized"
  | "misconfigured"
  | "unreachable";

/** While an endpoint is paused, only probes are sent. */
export type EndpointState =
  | { readonly state: "open" }
  | {
      readonly state: "paused";
      /** What is wrong, in one word. */
      readonly reason: PauseReason;
      /** For how long it has been so, in milliseconds. */
      readonly pausedMs: number;
    };
