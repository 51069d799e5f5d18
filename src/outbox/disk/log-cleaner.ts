import { statIfThere } from "./access.js";
import type { Database } from "./sqlite.js";

// SQLite writes its log anew from 4 MiB on, unless a reader still needs what is in it.
const LONG_BYTES = 64 * 1024 * 1024;

export interface LogCleaner {
  /** Empties the log where the file is at rest. To be called now and then, with whether nothing waits. */
  clean(isEmpty: boolean): void;
  /** How many bytes the log has, where it is long because another connection reads for a long time; else 0. */
  bytesHeldByReader(): number;
}

/** Empties SQLite's log: until then, the customers' addresses of what was delivered are still in it. */
export function createLogCleaner(db: Database): LogCleaner {
  const ofOthers = db.prepare("pragma data_version");
  const own = db.prepare("select total_changes() as number");
  const checkpoint = db.prepare("pragma wal_checkpoint(truncate)");
  const tryCheckpoint = db.prepare("pragma wal_checkpoint(passive)");
  const path: string = db.prepare("select file from pragma_database_list where name = 'main'").get().file;
  let seen = "";
  let cleaned = "";

  return {
    clean(isEmpty) {
      const version = `${ofOthers.get().data_version} ${own.get().number}`;
      const isAtRest = isEmpty || version === seen;
      seen = version;
      if (!isAtRest || version === cleaned) return;
      // While another process reads, the next call tries again.
      if (checkpoint.get().busy === 0) cleaned = version;
    },
    bytesHeldByReader() {
      const size = statIfThere(`${path}-wal`)?.size ?? 0;
      if (size < LONG_BYTES) return 0;
      const { log, checkpointed } = tryCheckpoint.get();
      return checkpointed < log ? size : 0;
    },
  };
}
