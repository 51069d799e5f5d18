import type { EventKind } from "../../events.js";
import type { EventRow, QueuePosition } from "./rows.js";
import { type Database, prepareAll } from "./sqlite.js";

export const STATEMENTS = {
  find: `
    select seq, destination, id, kind, click_id, session_id, created_at, size from events
    where seq in (select value from json_each(?))`,
} as const;

/** An event that was claimed on arrival, without entering its visitor's queue. */
export type ClaimedOnArrival = QueuePosition & Pick<EventRow, "id" | "kind" | "created_at" | "size">;

/** What one process has claimed, by sequence number: out of the queues, and on arrival. */
interface ClaimsOfOwner {
  heartbeat: number;
  /** By the process's own option. */
  readonly leaseMs: number;
  readonly queued: Set<number>;
  readonly onArrival: Set<number>;
}

/** All claims as the file keeps them, by process. */
export type StoredClaims = Readonly<
  Record<
    string,
    readonly [heartbeat: number, queued: readonly number[], onArrival: readonly number[], leaseMs?: number]
  >
>;

export type ClaimOwners = ReturnType<typeof createClaimOwners>;

/**
 * Which process has claimed which event. The file keeps it as one text and not as a mark on each event: an event that is
 * claimed on arrival and delivered is written once and deleted once.
 */
export function createClaimOwners(db: Database, leaseMs = 0) {
  const { find } = prepareAll(db, STATEMENTS);
  const byOwner = new Map<string, ClaimsOfOwner>();
  const ownerBySeq = new Map<number, string>();
  /** The events that were claimed on arrival; read from the file when the first of them is asked for. */
  const arrivals = new Map<number, ClaimedOnArrival>();
  let isOnArrivalKnown = true;
  let isChanged = false;

  function claimsOf(owner: string, heartbeat: number): ClaimsOfOwner {
    const claims = byOwner.get(owner) ?? {
      heartbeat,
      leaseMs,
      queued: new Set<number>(),
      onArrival: new Set<number>(),
    };
    claims.heartbeat = heartbeat;
    byOwner.set(owner, claims);
    return claims;
  }

  function allOnArrival(): ReadonlyMap<number, ClaimedOnArrival> {
    if (!isOnArrivalKnown) {
      const missing = [...byOwner.values()].flatMap(({ onArrival }) => [...onArrival]);
      if (missing.length > 0) {
        for (const row of find.all(JSON.stringify(missing)) as ClaimedOnArrival[]) arrivals.set(row.seq, row);
      }
      isOnArrivalKnown = true;
    }
    return arrivals;
  }

  return {
    /** A process claims an event out of its visitor's queue. */
    addQueued(seq: number, by: { readonly owner: string; readonly heartbeat: number }): void {
      claimsOf(by.owner, by.heartbeat).queued.add(seq);
      ownerBySeq.set(seq, by.owner);
      isChanged = true;
    },
    /** A process claims an event on arrival. */
    addOnArrival(event: ClaimedOnArrival, by: { readonly owner: string; readonly heartbeat: number }): void {
      claimsOf(by.owner, by.heartbeat).onArrival.add(event.seq);
      ownerBySeq.set(event.seq, by.owner);
      if (isOnArrivalKnown) arrivals.set(event.seq, event);
      isChanged = true;
    },
    /** Ends the claim on an event, whichever process has it. */
    remove(seq: number): void {
      const owner = ownerBySeq.get(seq);
      const claims = owner === undefined ? undefined : byOwner.get(owner);
      if (owner === undefined || !claims) return;
      claims.queued.delete(seq);
      claims.onArrival.delete(seq);
      if (claims.queued.size + claims.onArrival.size === 0) byOwner.delete(owner);
      ownerBySeq.delete(seq);
      arrivals.delete(seq);
      isChanged = true;
    },
    ownerOf: (seq: number): string | undefined => ownerBySeq.get(seq),
    /** The event with this sequence number, if it was claimed on arrival. */
    onArrivalAt(seq: number): ClaimedOnArrival | undefined {
      const owner = ownerBySeq.get(seq);
      if (owner === undefined || !byOwner.get(owner)?.onArrival.has(seq)) return undefined;
      return allOnArrival().get(seq);
    },
    /** Whether an event has to wait for one that was claimed on arrival. */
    isAheadOf(event: Ids): boolean {
      for (const onArrival of allOnArrival().values()) if (shareAnId(onArrival, event)) return true;
      return false;
    },
    /** The sequence numbers of events that were claimed on arrival and that one of these waits for. */
    onArrivalAhead: (events: readonly Ids[]): number[] =>
      [...allOnArrival().values()]
        .filter((onArrival) => events.some((event) => shareAnId(onArrival, event)))
        .map(({ seq }) => seq),
    /** The first of a kind that was claimed on arrival. */
    firstOnArrival(destination: number, kind: EventKind): ClaimedOnArrival | undefined {
      let found: ClaimedOnArrival | undefined;
      for (const onArrival of allOnArrival().values()) {
        if (onArrival.destination !== destination || onArrival.kind !== kind) continue;
        if (!found || onArrival.seq < found.seq) found = onArrival;
      }
      return found;
    },
    /** The sequence numbers of all that one process has claimed, or all processes. */
    seqs(owner?: string): readonly number[] {
      if (owner === undefined) return [...ownerBySeq.keys()];
      const claims = byOwner.get(owner);
      return claims ? [...claims.queued, ...claims.onArrival] : [];
    },
    get isEmpty() {
      return ownerBySeq.size === 0;
    },
    /** The processes that have claimed something, with their last heartbeat. */
    get all(): readonly { readonly owner: string; readonly heartbeat: number; readonly leaseMs: number }[] {
      return [...byOwner].map(([owner, { heartbeat, leaseMs }]) => ({ owner, heartbeat, leaseMs }));
    },
    /** A process renews its lease on all that it has claimed. */
    beat(owner: string, heartbeat: number): void {
      const claims = byOwner.get(owner);
      if (!claims) return;
      claims.heartbeat = heartbeat;
      isChanged = true;
    },
    /** Whether they differ from the file's. */
    get isChanged() {
      return isChanged;
    },
    /** The text that the file keeps from now on. */
    store(): string {
      isChanged = false;
      const stored: StoredClaims = Object.fromEntries(
        [...byOwner].map(([owner, { heartbeat, leaseMs, queued, onArrival }]) => [
          owner,
          [heartbeat, [...queued], [...onArrival], leaseMs],
        ]),
      );
      return JSON.stringify(stored);
    },
    restore(json: string): void {
      byOwner.clear();
      ownerBySeq.clear();
      arrivals.clear();
      const stored = JSON.parse(json) as StoredClaims;
      for (const [owner, [heartbeat, queued, onArrival, leaseMs = 0]] of Object.entries(stored)) {
        byOwner.set(owner, { heartbeat, leaseMs, queued: new Set(queued), onArrival: new Set(onArrival) });
        for (const seq of [...queued, ...onArrival]) ownerBySeq.set(seq, owner);
      }
      isOnArrivalKnown = false;
      isChanged = false;
    },
  };
}

type Ids = Omit<QueuePosition, "seq">;

function shareAnId(one: Ids, other: Ids): boolean {
  if (one.destination !== other.destination) return false;
  return (
    (one.click_id !== null && one.click_id === other.click_id) ||
    (one.session_id !== null && one.session_id === other.session_id)
  );
}
