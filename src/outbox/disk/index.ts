/**
 * The outbox that keeps events on this machine's disk.
 *
 * @module express-affiliate/disk
 */
export type { Outbox } from "../outbox.js";
export { type DiskOutboxOptions, diskOutbox } from "./disk-outbox.js";
