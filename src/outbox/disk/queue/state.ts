import type { EventKind } from "../../../conversion/events.js";
import { LEAST_URGENT_FIRST } from "../../../conversion/kinds.js";
import type { DeathReason } from "../../dead-letters.js";
import type { EventRow, QueuePosition } from "./rows.js";

/** The file's state row, which the transaction may change. */
export type Known = ReturnType<typeof knownFrom>;

export function knownFrom(
  row: { readonly last_seq: number; readonly entered_up_to: number; readonly now: number },
  totals: Totals,
  claims: ClaimedEvents,
  [deliveredBytes, ...delivered]: readonly [number, ...number[]],
) {
  const known = {
    /** The highest sequence number ever used. */
    lastSeq: row.last_seq,
    /** Events after this one have entered no queue yet. */
    enteredUpTo: row.entered_up_to,
    totals,
    claims,
    /** Delivered events whose rows are still to be deleted, and their bytes. */
    delivered: { seqs: new Set(delivered), bytes: deliveredBytes },
    changedAt: row.now,
    stored: "",

    get values() {
      const { bytes, seqs } = known.delivered;
      const deliveredJson = JSON.stringify([bytes, ...seqs]);
      return [known.lastSeq, known.enteredUpTo, totals.json, claims.json, deliveredJson] as const;
    },
    get haveAllEntered(): boolean {
      return known.enteredUpTo === known.lastSeq;
    },
    /** Never reused: an old claim must not mean another event. */
    nextSeq: (): number => ++known.lastSeq,
  };
  known.stored = known.values.join();
  return known;
}

/** What is counted: live and delivered events, dead letters, scheduled payments, known ids. */
type Counted = EventKind | `${EventKind} ${DeathReason}` | `delivered ${EventKind}` | "scheduled" | IdTable;

type IdTable = "ids_new" | "ids_young" | "ids_old";

/** The destination number for counts of all destinations together. */
const ALL = 0;

type Total = [rows: number, bytes: number];

type Totals = ReturnType<typeof createTotals>;

/** Rows and bytes of each destination, so that no statement has to count. */
export function createTotals(json: string) {
  const totals = JSON.parse(json) as Record<string, Record<string, Total>>;
  /** Bytes of live events and dead letters, which `maxBytes` bounds. */
  let allBytes = 0;
  for (const own of Object.values(totals)) for (const [, bytes] of Object.values(own)) allBytes += bytes;

  const rows = (destination: number, name: Counted): number => totals[destination]?.[name]?.[0] ?? 0;

  function add(destination: number, name: Counted, rows: number, bytes: number): void {
    totals[destination] ??= {};
    const own = totals[destination];
    const [rowsBefore, bytesBefore] = own[name] ?? [0, 0];
    own[name] = [rowsBefore + rows, bytesBefore + bytes];
    if (own[name][0] === 0) delete own[name];
    allBytes += bytes;
  }

  return {
    rows,
    add,
    ids: (table: IdTable): number => rows(ALL, table),
    addIds: (table: IdTable, number: number): void => add(ALL, table, number, 0),
    /** Bytes of all destinations; without names, of everything. */
    bytes(...names: readonly Counted[]): number {
      if (names.length === 0) return allBytes;
      let sum = 0;
      for (const own of Object.values(totals)) for (const name of names) sum += own[name]?.[1] ?? 0;
      return sum;
    },
    /** All destinations that have or had rows. */
    get destinations(): readonly number[] {
      return Object.keys(totals)
        .map(Number)
        .filter((number) => number !== ALL);
    },
    /** Whether no event is live. */
    get isEmpty(): boolean {
      return this.destinations.every((each) => LEAST_URGENT_FIRST.every((kind) => rows(each, kind) === 0));
    },
    /** The text to store in the file. */
    get json(): string {
      return JSON.stringify(totals);
    },
  };
}

/** An event claimed on arrival is in no queue, and never will be if it is delivered. */
type ClaimedOnArrival = QueuePosition & Pick<EventRow, "id" | "kind" | "created_at" | "size">;

export interface Claimer {
  readonly owner: string;
  readonly heartbeat: number;
  readonly leaseMs: number;
}

/** What the file says of each process that has claimed something. */
export type StoredClaims = Readonly<
  Record<string, readonly [heartbeat: number, leaseMs: number, seqs: readonly number[]]>
>;

type Visitor = Omit<QueuePosition, "seq">;

type ClaimedEvents = ReturnType<typeof createClaimedEvents>;

/**
 * Which process has claimed which event. In the file, this is one text and no mark on each event:
 * so an event that is claimed on arrival and delivered is written once and deleted once.
 * `onArrival` are those that have entered no queue, in order.
 */
export function createClaimedEvents(stored: StoredClaims, onArrival: readonly ClaimedOnArrival[]) {
  const claimers = new Map(
    Object.entries(stored).map(([owner, [heartbeat, leaseMs, seqs]]) => [
      owner,
      { owner, heartbeat, leaseMs, seqs: new Set(seqs) },
    ]),
  );
  const arrivals = new Map(onArrival.map((each) => [each.seq, each]));
  const all = () => [...claimers.values()];

  return {
    add(seq: number, claimer: Claimer, arrival?: ClaimedOnArrival): void {
      const { owner, heartbeat, leaseMs } = claimer;
      const seqs = claimers.get(owner)?.seqs ?? new Set<number>();
      claimers.set(owner, { owner, heartbeat, leaseMs, seqs: seqs.add(seq) });
      if (arrival) arrivals.set(seq, arrival);
    },
    /** Ends a claim, whichever process has it. */
    remove(seq: number): void {
      for (const { owner, seqs } of claimers.values())
        if (seqs.delete(seq) && seqs.size === 0) claimers.delete(owner);
      arrivals.delete(seq);
    },
    renew(by: Claimer): void {
      const claimer = claimers.get(by.owner);
      if (claimer) claimer.heartbeat = by.heartbeat;
    },
    ownerOf: (seq: number): string | undefined => all().find(({ seqs }) => seqs.has(seq))?.owner,
    /** The sequence numbers of one process's claims, or of all. */
    seqs: (of?: string): readonly number[] =>
      all().flatMap(({ owner, seqs }) => (owner === (of ?? owner) ? [...seqs] : [])),
    get claimers(): readonly Claimer[] {
      return all();
    },
    onArrival: (seq: number): ClaimedOnArrival | undefined => arrivals.get(seq),
    /** The events claimed on arrival that one of these waits for. */
    aheadOf: (...events: readonly Visitor[]): readonly ClaimedOnArrival[] =>
      arrivals.size === 0
        ? []
        : [...arrivals.values()].filter((arrival) => events.some((event) => shareAnId(arrival, event))),
    firstOnArrival: (destination: number, kind: EventKind): ClaimedOnArrival | undefined =>
      [...arrivals.values()].find((each) => each.destination === destination && each.kind === kind),
    /** The text to store in the file. */
    get json(): string {
      const stored: StoredClaims = Object.fromEntries(
        all().map(({ owner, heartbeat, leaseMs, seqs }) => [owner, [heartbeat, leaseMs, [...seqs]]]),
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
