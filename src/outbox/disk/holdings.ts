import type { EventKind } from "../../events.js";
import type { EventRow, Placed } from "./rows.js";
import { type Database, prepareAll } from "./sqlite.js";

export const STATEMENTS = {
  find: `
    select seq, destination, id, kind, click_id, session_id, created_at, size from events
    where seq in (select value from json_each(?))`,
} as const;

/** An event that was claimed before it was lined up. */
export type Direct = Placed & Pick<EventRow, "id" | "kind" | "created_at" | "size">;

/** What a process has claimed: the places of what was lined up, and of what was not. */
interface Holding {
  pulse: number;
  /** By the process's own option. */
  readonly leaseMs: number;
  readonly lined: Set<number>;
  readonly direct: Set<number>;
}

/** Holdings as the file keeps them, by process. */
export type StoredHoldings = Readonly<
  Record<
    string,
    readonly [pulse: number, lined: readonly number[], direct: readonly number[], leaseMs?: number]
  >
>;

export type Holdings = ReturnType<typeof createHoldings>;

/**
 * What all processes have claimed. It is one text in the file, and no mark on each event: an event that is claimed as its turn
 * comes, and delivered, is written once and removed once.
 */
export function createHoldings(db: Database, leaseMs = 0) {
  const { find } = prepareAll(db, STATEMENTS);
  const byOwner = new Map<string, Holding>();
  const owners = new Map<number, string>();
  /** What is known of those that were not lined up: of each of them once one has been asked for. */
  const directs = new Map<number, Direct>();
  let areDirectsKnown = true;
  let isChanged = false;

  function holdingOf(owner: string, pulse: number): Holding {
    const holding = byOwner.get(owner) ?? {
      pulse,
      leaseMs,
      lined: new Set<number>(),
      direct: new Set<number>(),
    };
    holding.pulse = pulse;
    byOwner.set(owner, holding);
    return holding;
  }

  function knownDirects(): ReadonlyMap<number, Direct> {
    if (!areDirectsKnown) {
      const missing = [...byOwner.values()].flatMap(({ direct }) => [...direct]);
      if (missing.length > 0) {
        for (const row of find.all(JSON.stringify(missing)) as Direct[]) directs.set(row.seq, row);
      }
      areDirectsKnown = true;
    }
    return directs;
  }

  return {
    /** A process claims an event that is lined up. */
    addLined(seq: number, by: { readonly owner: string; readonly pulse: number }): void {
      holdingOf(by.owner, by.pulse).lined.add(seq);
      owners.set(seq, by.owner);
      isChanged = true;
    },
    /** A process claims an event that is not lined up. */
    addDirect(event: Direct, by: { readonly owner: string; readonly pulse: number }): void {
      holdingOf(by.owner, by.pulse).direct.add(event.seq);
      owners.set(event.seq, by.owner);
      if (areDirectsKnown) directs.set(event.seq, event);
      isChanged = true;
    },
    /** Takes the claim off an event, whoever has it. */
    remove(seq: number): void {
      const owner = owners.get(seq);
      const holding = owner === undefined ? undefined : byOwner.get(owner);
      if (owner === undefined || !holding) return;
      holding.lined.delete(seq);
      holding.direct.delete(seq);
      if (holding.lined.size + holding.direct.size === 0) byOwner.delete(owner);
      owners.delete(seq);
      directs.delete(seq);
      isChanged = true;
    },
    ownerOf: (seq: number): string | undefined => owners.get(seq),
    /** The event at a place, where it was claimed before it was lined up. */
    directAt(seq: number): Direct | undefined {
      const owner = owners.get(seq);
      if (owner === undefined || !byOwner.get(owner)?.direct.has(seq)) return undefined;
      return knownDirects().get(seq);
    },
    /** Whether an event has to wait for one that was claimed before it was lined up. */
    isAheadOf(event: Ids): boolean {
      for (const direct of knownDirects().values()) if (shareAnId(direct, event)) return true;
      return false;
    },
    /** The places of what one of these events waits for, and was claimed before it was lined up. */
    directsAhead: (events: readonly Ids[]): number[] =>
      [...knownDirects().values()]
        .filter((direct) => events.some((event) => shareAnId(direct, event)))
        .map(({ seq }) => seq),
    /** The first of a kind that was claimed before it was lined up. */
    firstDirect(destination: number, kind: EventKind): Direct | undefined {
      let found: Direct | undefined;
      for (const direct of knownDirects().values()) {
        if (direct.destination !== destination || direct.kind !== kind) continue;
        if (!found || direct.seq < found.seq) found = direct;
      }
      return found;
    },
    /** The places of all that a process has claimed, or all processes. */
    places(owner?: string): readonly number[] {
      if (owner === undefined) return [...owners.keys()];
      const holding = byOwner.get(owner);
      return holding ? [...holding.lined, ...holding.direct] : [];
    },
    get isEmpty() {
      return owners.size === 0;
    },
    /** The processes that have claimed something, with their last heartbeat. */
    get holders(): readonly { readonly owner: string; readonly pulse: number; readonly leaseMs: number }[] {
      return [...byOwner].map(([owner, { pulse, leaseMs }]) => ({ owner, pulse, leaseMs }));
    },
    /** A process shows that it lives, on what it has claimed. */
    show(owner: string, pulse: number): void {
      const holding = byOwner.get(owner);
      if (!holding) return;
      holding.pulse = pulse;
      isChanged = true;
    },
    /** Whether they are others than the file's. */
    get isChanged() {
      return isChanged;
    },
    /** As the file keeps them from now on. */
    store(): string {
      isChanged = false;
      const stored: StoredHoldings = Object.fromEntries(
        [...byOwner].map(([owner, { pulse, leaseMs, lined, direct }]) => [
          owner,
          [pulse, [...lined], [...direct], leaseMs],
        ]),
      );
      return JSON.stringify(stored);
    },
    restore(json: string): void {
      byOwner.clear();
      owners.clear();
      directs.clear();
      const stored = JSON.parse(json) as StoredHoldings;
      for (const [owner, [pulse, lined, direct, leaseMs = 0]] of Object.entries(stored)) {
        byOwner.set(owner, { pulse, leaseMs, lined: new Set(lined), direct: new Set(direct) });
        for (const seq of [...lined, ...direct]) owners.set(seq, owner);
      }
      areDirectsKnown = false;
      isChanged = false;
    },
  };
}

type Ids = Omit<Placed, "seq">;

function shareAnId(one: Ids, other: Ids): boolean {
  if (one.destination !== other.destination) return false;
  return (
    (one.click_id !== null && one.click_id === other.click_id) ||
    (one.session_id !== null && one.session_id === other.session_id)
  );
}
