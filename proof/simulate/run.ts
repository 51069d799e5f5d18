import type { Broken } from "./broken.js";
import type { Owner } from "./clock.js";
import type { Disk } from "./disk.js";
import type { HostOfSlot } from "./host.js";
import type { TrackerProcess } from "./process.js";
import type { SqlServer } from "./sql/server.js";

export interface Outcome {
  readonly broken: Broken | undefined;
  /** Of all that happened, in its order. */
  readonly digest: number;
  /** How many tasks ran, and how many requests, receipts and notices there were. */
  readonly tasks: number;
  readonly events: number;
  readonly trace: readonly string[] | undefined;
}

/** A bug to plant in each process as it starts, or in the disk. */
export interface Sabotage {
  process?(process: TrackerProcess): void;
  disk?(disk: Disk): void;
}

export interface RunOptions {
  readonly directory: string;
  readonly keepsTrace?: boolean;
  readonly sabotage?: Sabotage | undefined;
  /** Where the schedule's outbox is in a database. */
  readonly server?: SqlServer | undefined;
}

/** A slot for one process at a time. */
export interface Slot {
  readonly index: number;
  starts: number;
  owner: Owner | undefined;
  process: TrackerProcess | undefined;
  host: HostOfSlot;
}
