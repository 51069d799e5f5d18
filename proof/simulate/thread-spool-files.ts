// The simulation's side of it: see `Worker` in worker-threads.ts.
declare function require(name: "simulated:spool-files"): typeof import("./spool-files.js");

/** Replaces src/outbox/disk/spool-files.ts in an outbox's thread. */
export const { sealSpool, spoolsBeside } = require("simulated:spool-files");
