import { memoryOutbox } from "express-affiliate";
import { diskOutbox } from "express-affiliate/disk";
import { testOutbox } from "../contract/index.js";
import { type Disk, openDisk } from "../helpers/disk-store.js";
import { scratchDirectory } from "../helpers/scratch.js";

testOutbox("memoryOutbox", {
  create: () => memoryOutbox(),
  createSmall: () => memoryOutbox({ maxEvents: 1_000, maxBytes: 200_000, maxDeadLetters: 10 }),
  maxDeadLetters: 10,
  maxDeadLetterBytes: 100_000,
});

let directory: string;
let locking: Disk;
const fresh = () => {
  directory = scratchDirectory();
  return directory;
};

testOutbox("diskOutbox", {
  create: () => diskOutbox({ directory: fresh() }),
  createSmall: () => diskOutbox({ directory: fresh(), maxBytes: 1024 * 1024, maxDeadLetters: 10 }),
  maxDeadLetters: 10,
  // Of texts: with the rows around them, a third of the file.
  maxDeadLetterBytes: 220_000,
  reopen: () => diskOutbox({ directory }),
  cutOff() {
    locking = openDisk(directory);
    locking.db.exec("begin exclusive");
  },
  restore() {
    locking.db.exec("commit");
    locking.close();
  },
});
