import { describe, it } from "vitest";
import { diskOutbox } from "../../src/outbox/disk.js";
import { memoryOutbox } from "../../src/outbox/memory.js";
import { testOutbox } from "../../src/testing/index.js";
import { scratchDirectory } from "../helpers/scratch.js";

testOutbox(
  "memoryOutbox",
  { create: () => memoryOutbox(), createSmall: () => memoryOutbox({ maxEvents: 100 }) },
  { describe, it },
);

let directory: string;
const fresh = () => {
  directory = scratchDirectory();
  return directory;
};

testOutbox(
  "diskOutbox",
  {
    create: () => diskOutbox({ directory: fresh() }),
    createSmall: () => diskOutbox({ directory: fresh(), maxBytes: 1024 * 1024 }),
    reopen: () => diskOutbox({ directory }),
  },
  { describe, it },
);
