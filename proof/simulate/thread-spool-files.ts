// The simulation's side of it: see `Worker` in worker-threads.ts.
declare function require(name: "simulated:spool-files"): typeof import("./spool-files.js");

export { eventFromLine } from "../../src/outbox/disk/spool/spool-files.js";

/** Replaces src/outbox/disk/spool/spool-files.ts in an outbox's thread. */
export const { readSpool, removeSpool, spoolsBeside } = require("simulated:spool-files");
