/**
 * The tracking service itself, on this machine: for development and tests.
 *
 * @module express-affiliate/sandbox
 */
export type { EndpointName } from "./endpoints.js";
export type { Fault, FaultMode, FaultOptions } from "./faults.js";
export type {
  Click,
  Entry,
  Lead,
  LinkedThrough,
  NotLinked,
  Payment,
  RecordedRequest,
  Registration,
} from "./ledger/entries.js";
export type { Ledger } from "./ledger/ledger.js";
export type { SandboxOptions } from "./sandbox.js";
export { createSandbox, type Sandbox } from "./sandbox.js";
