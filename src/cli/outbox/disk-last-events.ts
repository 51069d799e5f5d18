import type { Database } from "../../outbox/disk/file/sqlite.js";
import type { StoredClaims } from "../../outbox/disk/queue/state.js";
import { type LastEvent, newest } from "./last-events.js";

type Row = Omit<LastEvent, "state"> & { readonly seq: number; readonly state: string };
interface StateRow {
  readonly claims: string;
  readonly delivered: string;
}

// Delivered ids have the time that the file was in use, not a date.
const LAST = `
  select * from (
    select seq, id, kind, state, created_at as at, ready_at as until, null as reason
    from events order by seq desc limit ?1)
  union all select * from (
    select null, id, 'payment', 'waiting', created_at, not_before, null from scheduled order by created_at desc limit ?1)
  union all select * from (
    select null, id, kind, 'dead', died_at, null, reason from dead_letters order by seq desc limit ?1)
  union all select * from (
    select null, id, kind, 'known', state.now - (state.in_use_ms - at), null, null
    from delivered, state order by seq desc limit ?1)`;

export function lastEventsIn(db: Database, limit: number): readonly LastEvent[] {
  const state = db.prepare("select claims, delivered from state").get() as StateRow;
  const claims = Object.values(JSON.parse(state.claims) as StoredClaims);
  const claimed = new Set(claims.flatMap(([, , seqs]) => seqs));
  const [, ...delivered] = JSON.parse(state.delivered) as number[];
  const rows = db.prepare(LAST).all(limit) as Row[];
  return newest(
    rows.map(({ seq, ...row }) => ({
      ...row,
      state: stateOf(row.state, claimed.has(seq), delivered.includes(seq)),
    })),
    limit,
  );
}

function stateOf(state: string, isClaimed: boolean, isDelivered: boolean): LastEvent["state"] {
  if (state === "dead" || state === "known") return state;
  if (isDelivered) return "known";
  if (isClaimed) return "under-way";
  return state === "behind" ? "behind" : "waiting";
}
