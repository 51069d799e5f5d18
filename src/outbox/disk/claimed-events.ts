import type { EventKind } from "../../events.js";
import type { EventRow, QueuePosition } from "./rows.js";

/** A claimed event that has not entered its visitor's queue, and never will if it is delivered. */
export type ClaimedOnArrival = QueuePosition & Pick<EventRow, "id" | "kind" | "created_at" | "size">;

/** A process that claims events. */
export interface Claimer {
  readonly owner: string;
  readonly heartbeat: number;
  /** By the process's own option. */
  readonly leaseMs: number;
}

/** What the file says: by process, its heartbeat, its lease and the sequence numbers that it has claimed. */
export type StoredClaims = Readonly<
  Record<string, readonly [heartbeat: number, leaseMs: number, seqs: readonly number[]]>
>;

type Visitor = Omit<QueuePosition, "seq">;

export type ClaimedEvents = ReturnType<typeof createClaimedEvents>;

/**
 * Which process has claimed which event. The file keeps it as one text and not as a mark on each event: an event that is
 * claimed on arrival and delivered is written once and deleted once.
 *
 * @param onArrival those of them that have entered no queue.
 */
export function createClaimedEvents(stored: StoredClaims, onArrival: readonly ClaimedOnArrival[]) {
  const claimers = new Map<string, Claimer & { readonly seqs: Set<number> }>();
  const owners = new Map<number, string>();
  const arrivals = new Map(onArrival.map((each) => [each.seq, each]));
  for (const [owner, [heartbeat, leaseMs, seqs]] of Object.entries(stored)) {
    claimers.set(owner, { owner, heartbeat, leaseMs, seqs: new Set(seqs) });
    for (const seq of seqs) owners.set(seq, owner);
  }

  return {
    add(seq: number, { owner, heartbeat, leaseMs }: Claimer, arrival?: ClaimedOnArrival): void {
      const seqs = claimers.get(owner)?.seqs ?? new Set<number>();
      claimers.set(owner, { owner, heartbeat, leaseMs, seqs: seqs.add(seq) });
      owners.set(seq, owner);
      if (arrival) arrivals.set(seq, arrival);
    },
    /** Ends the claim on an event, whichever process has it. */
    remove(seq: number): void {
      const owner = owners.get(seq) ?? "";
      const seqs = claimers.get(owner)?.seqs;
      seqs?.delete(seq);
      if (seqs?.size === 0) claimers.delete(owner);
      owners.delete(seq);
      arrivals.delete(seq);
    },
    /** A process renews its lease on all that it has claimed. */
    renew(by: Claimer): void {
      const claimer = claimers.get(by.owner);
      if (claimer) claimers.set(by.owner, { ...claimer, heartbeat: by.heartbeat });
    },
    ownerOf: (seq: number): string | undefined => owners.get(seq),
    /** The sequence numbers of all that one process has claimed, or all processes. */
    seqs: (owner?: string): readonly number[] =>
      owner === undefined ? [...owners.keys()] : [...(claimers.get(owner)?.seqs ?? [])],
    /** The processes that have claimed something. */
    get claimers(): readonly Claimer[] {
      return [...claimers.values()];
    },
    onArrival: (seq: number): ClaimedOnArrival | undefined => arrivals.get(seq),
    /** Those that were claimed on arrival and that one of these events waits for. */
    aheadOf: (...events: readonly Visitor[]): readonly ClaimedOnArrival[] =>
      arrivals.size === 0
        ? []
        : [...arrivals.values()].filter((arrival) => events.some((event) => shareAnId(arrival, event))),
    /** The first of a kind that was claimed on arrival. */
    firstOnArrival(destination: number, kind: EventKind): ClaimedOnArrival | undefined {
      let first: ClaimedOnArrival | undefined;
      for (const each of arrivals.values())
        if (each.destination === destination && each.kind === kind && !(first && first.seq < each.seq))
          first = each;
      return first;
    },
    /** What the file is to say. */
    get json(): string {
      const stored: StoredClaims = Object.fromEntries(
        [...claimers.values()].map(({ owner, heartbeat, leaseMs, seqs }) => [
          owner,
          [heartbeat, leaseMs, [...seqs]],
        ]),
      );
      return JSON.stringify(stored);
    },
  };
}

function shareAnId(one: Visitor, other: Visitor): boolean {
  if (one.destination !== other.destination) return false;
  return (
    (one.click_id !== null && one.click_id === other.click_id) ||
    (one.session_id !== null && one.session_id === other.session_id)
  );
}
