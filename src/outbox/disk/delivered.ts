import type { EventKind } from "../../events.js";
import { SHEDDING_ORDER } from "../shedding.js";
import type { KnownIds } from "./known-ids.js";
import { type Database, prepareAll } from "./sqlite.js";
import type { SteadyClock } from "./steady-clock.js";
import type { Totals } from "./totals.js";

export const statementsOf = (kind: EventKind) => ({
  remember: `insert into delivered_${kind} (destination, id, at) values (?, ?, ?)`,
  rememberAll: `
    insert into delivered_${kind} (destination, id, at)
    select destination, id, ? from events where seq in (select value from json_each(?))`,
  // The oldest are the first: one row tells whether there is anything to forget.
  forget: `
    delete from delivered_${kind}
    where seq in (select seq from delivered_${kind} order by seq limit ?1) and (at < ?2 or ?3)
    returning destination, id`,
  handOver: `update delivered_${kind} set destination = ?2 where destination = ?1 and seq > ?3 and seq <= ?4`,
  last: `select max(seq) as seq from delivered_${kind}`,
});

const DAY_MS = 24 * 60 * 60 * 1_000;
const BYTES_EACH = 120;
// A click that is reported again comes soon after the first report, and a flood of them must not take space for long.
const MOST_CLICKS = 10_000;
const SHARES = { click: 0.1, registration: 0.3, payment: 0.6 } as const;
// So few that no other request waits for it.
const AT_ONCE = 1_000;

export type Delivered = ReturnType<typeof createDelivered>;

/** The ids of delivered events, and since when each is remembered. Old ids, and too many, are forgotten. */
export function createDelivered(
  db: Database,
  parts: { totals: Totals; ids: KnownIds; steady: SteadyClock; maxBytes: number; rememberMs: number },
) {
  const { totals, ids, steady, maxBytes, rememberMs } = parts;
  const tables = {
    click: prepareAll(db, statementsOf("click")),
    registration: prepareAll(db, statementsOf("registration")),
    payment: prepareAll(db, statementsOf("payment")),
  };

  /** How many ids of a kind there is no space for. */
  function tooManyOf(kind: EventKind): number {
    const rows = totals.destinations.reduce((sum, each) => sum + totals.rows(each, `delivered ${kind}`), 0);
    const bySpace = Math.floor((maxBytes * SHARES[kind]) / BYTES_EACH);
    return rows - (kind === "click" ? Math.min(bySpace, MOST_CLICKS) : bySpace);
  }

  function forgetSomeOf(kind: EventKind): void {
    const tooMany = tooManyOf(kind);
    const forMs = kind === "click" ? Math.min(rememberMs, DAY_MS) : rememberMs;
    const atOnce = tooMany > 0 ? Math.min(AT_ONCE, tooMany) : AT_ONCE;
    const forgotten: { destination: number; id: string }[] = tables[kind].forget.all(
      atOnce,
      steady.now - forMs,
      +(tooMany > 0),
    );
    for (const { destination, id } of forgotten) {
      ids.forget(destination, id);
      totals.add(destination, `delivered ${kind}`, -1, 0);
    }
  }

  function count(destination: number, kind: EventKind, number: number): void {
    totals.add(destination, `delivered ${kind}`, number, 0);
    // At once, if they come faster than `forgetSome` is called.
    if (tooManyOf(kind) > AT_ONCE) forgetSomeOf(kind);
  }

  return {
    add(destination: number, kind: EventKind, id: string): void {
      tables[kind].remember.run(destination, id, steady.now);
      count(destination, kind, 1);
    },
    /** Adds events of one destination and kind that are still in their table. */
    addAll(destination: number, kind: EventKind, seqs: readonly number[]): void {
      tables[kind].rememberAll.run(steady.now, JSON.stringify(seqs));
      count(destination, kind, seqs.length);
    },
    /** Forgets some of those that are too old, or too many. */
    forgetSome(): void {
      for (const kind of SHEDDING_ORDER) forgetSomeOf(kind);
    },
    /** Hands ids over from one destination to another, from a sequence number on. Returns the number to go on from; `undefined` at the end. */
    handOver(kind: EventKind, from: number, to: number, after: number): number | undefined {
      const { handOver, last } = tables[kind];
      const until = after + AT_ONCE;
      const changes = Number(handOver.run(from, to, after, until).changes);
      totals.add(from, `delivered ${kind}`, -changes, 0);
      totals.add(to, `delivered ${kind}`, changes, 0);
      return until < (last.get().seq ?? 0) ? until : undefined;
    },
  };
}
