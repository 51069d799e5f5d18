import type { DeadLetter, OutboxEvent } from "express-affiliate";
import {
  CLICKS_OF_A_VISITOR,
  type Claim,
  claimStepsOf,
  createOutbox,
  deadLetterOf,
  firstToEvict,
  type Head,
  headsOf,
  kindsBelow,
  type Outbox,
  type StorageNotices,
  UNTRIED,
  urgenciesOf,
  visitorOf,
} from "express-affiliate/outbox";

// A whole outbox of one's own: see "Writing your own" in docs/outboxes.md. Its events are in a map; yours asks a server.
// Each part of `createOutbox` is one transaction there: in Redis a Lua script, in SQL a function.
// Here, each call reads all events. "Index:" says what to keep sorted instead, so that a call takes
// as long however many events wait.

/** An event that waits. It has been its visitor's next since `since`. After an attempt it rests until `readyAt`. */
type Row = Omit<Claim, "lane" | "urgency"> & Head & { claimed?: boolean };
type Letter = { kind: DeadLetter["kind"]; letter: DeadLetter; row: Row };

/** What several processes share: for each destination its events in their order, its dead letters and the known ids. */
export class MapStore {
  parts: Record<number, { rows: Map<string, Row>; dead: Map<string, Letter>; known: Set<string> }> = {};
  of = (destination: number) =>
    (this.parts[destination] ??= { rows: new Map(), dead: new Map(), known: new Set() });
  reach = async () => {}; // stands for a request to the server, which rejects while the server is away
}

const keysOf = ({ data: { clickId, sessionId } }: OutboxEvent) =>
  [clickId && `click ${clickId}`, sessionId && `session ${sessionId}`].filter(Boolean);

const haveOneVisitor = (one: OutboxEvent, other: OutboxEvent) =>
  keysOf(one).some((key) => keysOf(other).includes(key));

export function mapOutbox(store: MapStore, { maxEvents = 10_000, maxDeadLetters = 1_000 } = {}): Outbox {
  /** Removes an event. The visitor's next event has been next since now. */
  // Index: a queue for each click id and each session id, oldest first. An event is next if it is
  // the first in its queues.
  function remove({ event }: Row): void {
    const { rows } = store.of(event.destination);
    rows.delete(event.id);
    for (const row of rows.values())
      if (haveOneVisitor(row.event, event)) Object.assign(row, { since: Date.now() });
  }

  /** Stores an event. The visitor's earlier events become as urgent as this one; they count as new from then on. */
  // Index: an event is as urgent as its kind, or as the event right behind it in either queue if
  // that is more urgent. When this changes, by an event that comes or goes, look at the event right
  // before it in each queue, and so on.
  function enter(row: Omit<Row, "urgency">): void {
    const { rows } = store.of(row.event.destination);
    rows.set(row.event.id, { ...row, urgency: row.event.kind });
    for (const [each, urgency] of urgenciesOf([...rows.values()]))
      if (urgency !== each.urgency) Object.assign(each, { urgency, since: Date.now() });
  }

  /** Drops an event in favour of this one, if the store is full. `false`: no event may be dropped for it, so it went itself. */
  // Index: the unclaimed events of each urgency, and the clicks of each visitor, oldest first.
  function shed(event: OutboxEvent, dropped: StorageNotices["dropped"]): boolean {
    const { rows, known } = store.of(event.destination);
    const all = [...rows.values()].map((row) => ({ kind: row.urgency, row, event: row.event }));
    const visitor = visitorOf(event);
    const clicks = all.filter(({ event }) => event.kind === "click" && visitorOf(event) === visitor);
    const isCrowded = event.kind === "click" && clicks.length > CLICKS_OF_A_VISITOR;
    if (!isCrowded && rows.size <= maxEvents) return true;
    const below = isCrowded ? clicks : all.filter(({ kind }) => kindsBelow(event.kind).includes(kind));
    const first = firstToEvict(below.filter(({ row }) => !row.claimed && row.event !== event))?.row;
    remove(first ?? (rows.get(event.id) as Row));
    if (!first) return false;
    known.delete(first.event.id);
    dropped(first.event, isCrowded ? "visitor-full" : "full");
    return true;
  }

  return createOutbox({
    name: "map",
    async append(event, { dropped }) {
      await store.reach();
      const { known } = store.of(event.destination);
      if (known.has(event.id)) return "duplicate";
      const since = event.createdAt;
      enter({ event, history: UNTRIED, interrupted: false, queuedAt: since, since, readyAt: 0 });
      if (!shed(event, dropped)) return "full";
      known.add(event.id);
      return "queued";
    },
    // Several processes: a claim is its process's for as long as the process renews a lease. Let
    // the answer to a renewal say whether another one has taken over, and `isHeld` count from when
    // that renewal was sent. Each claim names the claims that are under way, and the store gives
    // this process's others back: the answer that brought them was lost.
    async claim({ destination, limit, lanes }) {
      await store.reach();
      const claims: Claim[] = [];
      const rows = [...store.of(destination).rows.values()];
      const byAge = rows.flatMap((row) => keysOf(row.event).map((key) => [key, row] as const));
      const oldest = new Map(byAge.toReversed());
      /** An event is its visitor's next if no earlier event has either of its ids. */
      const next = rows.filter((row) => keysOf(row.event).every((key) => oldest.get(key) === row));
      // Index: the unclaimed next events of each endpoint, urgency and `which`, by `since`. A step
      // reads the start or the end.
      for (const step of claimStepsOf(lanes)) {
        const free = next.filter(({ claimed }) => !claimed);
        const heads = headsOf(step, free, Date.now());
        const taken = heads.slice(0, Math.min(step.place.left, limit - claims.length));
        for (const row of taken) row.claimed = true;
        step.place.left -= taken.length;
        claims.push(...taken.map((row) => ({ ...row, lane: step.place.lane })));
      }
      return claims;
    },
    async settle({ event }, verdict, { dropped }) {
      await store.reach();
      const { rows, dead } = store.of(event.destination);
      const row = rows.get(event.id);
      if (!row) return;
      row.claimed = false;
      if (verdict.type === "delivered" || verdict.type === "dead") remove(row);
      if (verdict.type === "retry")
        Object.assign(row, { history: verdict.history, readyAt: Date.now() + verdict.inMs });
      if (verdict.type !== "dead") return;
      dead.set(event.id, { kind: event.kind, letter: deadLetterOf(event, verdict, Date.now()), row });
      const tooMany = dead.size > maxDeadLetters ? firstToEvict(dead.values()) : undefined;
      if (tooMany && dead.delete(tooMany.letter.id)) dropped(tooMany.row.event, "dead-letters-full");
    },
    // It cannot ask a server: there, each call's answer brings the counts.
    counts(destination) {
      const { rows, dead } = store.of(destination);
      const deaths = { rejected: 0, unconfirmed: 0, expired: 0 };
      for (const { letter } of dead.values()) deaths[letter.reason]++;
      return { queued: rows.size, dead: deaths, oldest: [...rows.values()][0]?.event.createdAt ?? null };
    },
    deadLetters: {
      list: async (destination) => [...store.of(destination).dead.values()].map(({ letter }) => letter),
      async retry(destination, id) {
        const { dead } = store.of(destination);
        const { row, letter } = dead.get(id) ?? {};
        if (!row) return false;
        const maybeTaken = row.history.maybeTaken || letter?.reason === "unconfirmed";
        enter({ ...row, history: { ...UNTRIED, maybeTaken }, queuedAt: Date.now(), since: Date.now() });
        return dead.delete(id);
      },
      discard: async (destination, id) => store.of(destination).dead.delete(id),
    },
  });
}
