/** The front door of `express-affiliate/disk`. */
export { type DiskOutboxOptions, diskOutbox } from "./outbox/disk.js";
