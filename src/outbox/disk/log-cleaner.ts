import type { Database } from "./sqlite.js";

/**
 * Empties SQLite's log when the file is at rest: until then, the customers' addresses of what was delivered are still in it.
 * To be called now and then, with whether nothing waits.
 */
export function createLogCleaner(db: Database): (isEmpty: boolean) => void {
  const ofOthers = db.prepare("pragma data_version");
  const own = db.prepare("select total_changes() as number");
  const checkpoint = db.prepare("pragma wal_checkpoint(truncate)");
  let seen = "";
  let cleaned = "";

  return (isEmpty) => {
    const version = `${ofOthers.get().data_version} ${own.get().number}`;
    const isAtRest = isEmpty || version === seen;
    seen = version;
    if (!isAtRest || version === cleaned) return;
    // Where another process is reading, it is for the next time.
    if (checkpoint.get().busy === 0) cleaned = version;
  };
}
