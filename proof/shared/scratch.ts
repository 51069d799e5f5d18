import { removeScratchDirectories } from "../../test/helpers/scratch.js";

process.once("exit", removeScratchDirectories);

/** A new folder, gone when this process ends. */
export { scratchDirectory as scratch } from "../../test/helpers/scratch.js";
