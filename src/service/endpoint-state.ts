import type { Endpoint } from "./endpoints.js";

/** What is paused: the whole service, or one of its endpoints. */
export type PauseScope = "origin" | Endpoint;

/** Why nothing but trials is sent. */
export type PauseReason =
  | "failing"
  | "silent"
  | "throttled"
  | "unauthorized"
  | "misconfigured"
  | "unreachable";

/** The state of an endpoint. While it is paused, only trials are sent. */
export type EndpointState =
  | { readonly state: "open" }
  | {
      readonly state: "paused";
      /** What is wrong, in one word. */
      readonly reason: PauseReason;
      /** For how long it has been so, in milliseconds. */
      readonly pausedMs: number;
    };
