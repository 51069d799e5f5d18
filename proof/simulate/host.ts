import type { Owner } from "./clock.js";
import type { Disk, DiskUser } from "./disk.js";
import type { Service } from "./service.js";

/** How a process meets its server. `cuts`, `deadlocks` and `full` hit only some statements. */
export type ServerFault = (typeof SERVER_FAULTS)[number];
export const SERVER_FAULTS = [
  "away",
  "cuts",
  "silent",
  "deadlocks",
  "read-only",
  "full",
  "slow",
  "stuck",
  "crowded",
  "lent",
] as const;

/** What the machine gives a process, besides time. */
export interface Host extends DiskUser {
  readonly disk: Disk;
  serverFault: ServerFault | undefined;
  /** How many faults there were, this one included. */
  faultsSeen: number;
  /** How large the file may grow, if it is less than the option allows. */
  readonly maxBytes?: number | undefined;
  readonly service: Service;
  threadsStarted: number;
}

/** A host without what each of its processes has for itself. */
export type HostOfSlot = Omit<Host, "threads" | "threadsStarted" | "random">;

const hosts = new WeakMap<Owner, Host>();

export function giveHost(owner: Owner, host: Host): void {
  hosts.set(owner, host);
}

export function hostOf(owner: Owner): Host {
  const host = hosts.get(owner);
  if (!host) throw new Error(`${owner.name} has no machine to run on`);
  return host;
}
