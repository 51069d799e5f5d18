import type { Endpoint } from "../service/endpoints.js";

/**
 * What the processes on one storage know together of an endpoint that leaves events without an answer which may not be sent
 * twice. Plain JSON. Times are in milliseconds since the epoch, by the storage's clock.
 */
export interface Circuit {
  /** When the first of the attempts began. */
  readonly since: number;
  /** How many attempts have waited long for an answer, or had none, since the endpoint last took an event. */
  readonly attempts: number;
  /** Whether one of them has ended without an answer. */
  readonly failed: boolean;
  /** When the next attempt may begin. */
  readonly trialAt: number;
  /** When one last began sooner, as the service's status endpoint answered again; 0 where none did. */
  readonly hurriedAt: number;
}

/** Where the processes on one storage keep their circuits. */
export interface Circuits {
  /** Resolves to the circuits of a destination's endpoints, and to the storage's time. */
  read(destination: number): Promise<StoredCircuits>;
  /**
   * Stores a circuit in place of the known one; `undefined` stands for none. Resolves to `false`, and stores nothing, where another
   * process has changed it meanwhile.
   */
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
  /** The endpoint whose circuit changes. */
  readonly endpoint: Endpoint;
  /** The circuit that the process has read; `undefined` stands for none. */
  readonly known: Circuit | undefined;
  /** The circuit to store in its place; `undefined` stands for none. */
  readonly next: Circuit | undefined;
}

/** A circuit as storages compare it: the same circuit is always the same text. */
export function textOf({ since, attempts, failed, trialAt, hurriedAt }: Circuit): string {
  return JSON.stringify({ since, attempts, failed, trialAt, hurriedAt });
}

/** The rows of a server: one at least, for the time. */
export function circuitsFrom(
  rows: readonly {
    readonly now: string | number;
    readonly endpoint: string | null;
    readonly circuit: string | null;
  }[],
): StoredCircuits {
  const circuits = rows.flatMap(({ endpoint, circuit }) =>
    endpoint === null || circuit === null ? [] : [[endpoint, JSON.parse(circuit) as Circuit]],
  );
  return { now: Number(rows[0]?.now), circuits: Object.fromEntries(circuits) };
}
