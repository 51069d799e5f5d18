import { removeScratchDirectories } from "../test/helpers/scratch.js";

// The last listener there is: an outbox ends before its directory goes.
process.once("disconnect", () => process.once("exit", removeScratchDirectories));

/** A directory of this process' own, gone when the process ends that has started this one. */
export { scratchDirectory as scratch } from "../test/helpers/scratch.js";
