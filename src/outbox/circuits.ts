import type { Endpoint } from "../service/endpoints.js";

/**
 * What the processes on one storage know of an endpoint that leaves, without an answer, events that
 * may not be sent twice. Plain JSON. Times are in milliseconds since the epoch, by the storage's
 * clock.
 */
export interface Circuit {
  /** When the first of the attempts began. */
  readonly since: number;
  /** How many attempts had no answer, or waited long for it, since it last took an event. */
  readonly attempts: number;
  /** Whether one of them has ended without an answer. */
  readonly failed: boolean;
  /** When the next probe may begin. */
  readonly probeAt: number;
  /** When a probe last began early, as the status endpoint answered again; 0 if none did. */
  readonly hurriedAt: number;
}

/** Where the processes on one storage keep their circuits. */
export interface Circuits {
  /** Resolves to the circuits of a destination's endpoints, and to the storage's time. */
  read(destination: number): Promise<StoredCircuits>;
  /** Replaces the known circuit. `false`, and no effect, if another process has changed it. */
  replace(change: CircuitChange): Promise<boolean>;
}

/** The circuits that a storage has for one destination. */
export interface StoredCircuits {
  /** The storage's time, in milliseconds since the epoch. */
  readonly now: number;
  /** By endpoint; an endpoint without a circuit is missing. */
  readonly circuits: Readonly<Partial<Record<Endpoint, Circuit>>>;
}

/** What a process replaces a circuit by. */
export interface CircuitChange {
  /** The destination that the endpoint belongs to. */
  readonly destination: number;
  /** Whose circuit it is. */
  readonly endpoint: Endpoint;
  /** What the process has read; `undefined`: none. */
  readonly known: Circuit | undefined;
  /** What to store in its place; `undefined`: none. */
  readonly next: Circuit | undefined;
}

/** As storages compare it: the same circuit is always the same text. */
export function textOf({ since, attempts, failed, probeAt, hurriedAt }: Circuit): string {
  return JSON.stringify({ since, attempts, failed, probeAt, hurriedAt });
}
