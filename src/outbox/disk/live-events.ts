import type { EventKind, OutboxEvent } from "../../events.js";
import { endpointOf, kindOf } from "../../service/endpoints.js";
import { type Capacity, CLICKS_OF_A_VISITOR, type History, type Lane, UNTRIED } from "../outbox.js";
import { oldestBelow, SHEDDING_ORDER } from "../shedding.js";
import type { KnownIds } from "./known-ids.js";
import type { Lines, Placed } from "./lines.js";
import type { Claimed, DiskClaim, Dropped } from "./protocol.js";
import { type Database, prepareAll } from "./sqlite.js";
import type { Totals } from "./totals.js";

const PAGE_BYTES = 4_096;
const LINED_UP_AT_ONCE = 256;
// Then the transaction has been long enough, should all of them belong to visitors whose events have to wait.
const TIMES = 4;
const FOREVER = Number.MAX_SAFE_INTEGER;

/** Rows as they leave the table. */
export interface EventRow extends Placed {
  readonly id: string;
  readonly kind: EventKind;
  readonly data: string;
  readonly created_at: number;
  readonly queued_at: number;
  readonly size: number;
  readonly history: string | null;
  readonly interrupted: number;
}

const claiming = (which: string) => `
    update events set claimed_by = ?1, pulse = ?2, ready_at = null
    where seq in (select seq from events where endpoint = ?3 and ready_at is not null and ${which} limit ?4)
    returning seq, id, kind, data, created_at, queued_at, history, interrupted`;

export const STATEMENTS = {
  // Behind the last, and behind all that have ever lined up: what a process still holds is never taken for another event.
  append: `
    insert into events
      (seq, id, kind, endpoint, click_id, session_id, data, created_at, queued_at, size, history)
    values (max(ifnull((select max(seq) from events), 0), (select to_seq from lined_up)) + 1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  claimOldest: claiming("tried = 0 order by ready_at, seq"),
  claimNewest: claiming("tried = 0 and ready_at >= ?5 order by ready_at desc, seq desc"),
  claimTried: claiming("tried = 1 and ready_at <= ?5 order by ready_at, seq"),
  release: `
    update events set claimed_by = null, pulse = null, ready_at = case when tried then ?4 else queued_at end
    where seq = ?1 and id = ?2 and claimed_by = ?3`,
  // What another process has taken over from one that never sent it.
  clear: "update events set interrupted = 0 where seq = ? and id = ? and claimed_by is null",
  rest: `
    update events set claimed_by = null, pulse = null, interrupted = 0, tried = 1, history = ?4, ready_at = ?5
    where seq = ?1 and id = ?2 and claimed_by = ?3`,
  // By both: in a file that was begun anew, another event may be in its place.
  remove: "delete from events where seq = ? and id = ? returning *",
  removeOwn: "delete from events where seq = ? and id = ? and claimed_by = ? returning *",
  shed: `
    delete from events where seq = (
      select seq from events where kind = ? and claimed_by is null order by seq limit 1
    ) returning *`,
  clicks: `
    select count(*) as number from (
      select 1 from events where kind = 'click' and coalesce(session_id, click_id) = ? limit ${CLICKS_OF_A_VISITOR}
    )`,
  shedClick: `
    delete from events where seq = (
      select seq from events
      where kind = 'click' and coalesce(session_id, click_id) = ? and claimed_by is null order by seq limit 1
    ) returning *`,
  oldest: "select created_at from events order by seq limit 1",
  nextReady: `
    select ready_at from events where ready_at is not null and tried = 1 and ready_at > ? order by ready_at limit 1`,
} as const;

export type LiveEvents = ReturnType<typeof createLiveEvents>;

/** The events that wait or are under way. One that is at the head of its visitor's line has a time at which it is ready. */
export function createLiveEvents(
  db: Database,
  parts: {
    totals: Totals;
    ids: KnownIds;
    lines: Lines;
    owner: string;
    maxBytes: number;
    drop: (dropped: Dropped) => void;
  },
) {
  const { totals, ids, lines, owner, maxBytes, drop } = parts;
  const statements = prepareAll(db, STATEMENTS);
  const { append, claimOldest, claimNewest, claimTried, release, clear, rest, remove, removeOwn } =
    statements;
  const { shed, clicks, shedClick, oldest, nextReady } = statements;
  let more = false;

  /** Returns `false` where the file is full, and nothing can be shed for this kind. */
  function insert(
    event: OutboxEvent,
    json: string,
    { queuedAt, size, history }: { queuedAt: number; history: string | null; size: number },
    now: number,
  ): boolean {
    const { id, kind, data, createdAt } = event;
    if (kind === "click") limitClicks(data.sessionId ?? data.clickId ?? "", now);
    if (!makeSpace(kind, size, now)) return false;
    const { clickId = null, sessionId = null } = data;
    const endpoint = endpointOf(event);
    append.run(id, kind, endpoint, clickId, sessionId, json, createdAt, queuedAt, size, history);
    totals.add(kind, 1, size);
    return true;
  }

  function limitClicks(visitor: string, now: number): void {
    if (totals.rows("click") < CLICKS_OF_A_VISITOR || clicks.get(visitor).number < CLICKS_OF_A_VISITOR)
      return;
    const row: EventRow | undefined = shedClick.get(visitor);
    if (row) discard(row, "visitor-full", now);
  }

  function makeSpace(kind: EventKind, size: number, now: number): boolean {
    while (totals.bytes(...SHEDDING_ORDER, "rejected", "unconfirmed", "expired") + size > maxBytes) {
      const oldest = oldestBelow(kind, takeOldest);
      if (!oldest) return false;
      discard(oldest, "full", now);
    }
    return true;
  }

  function discard(row: EventRow, reason: Dropped["reason"], now: number): void {
    left(row, now);
    ids.forget(row.id);
    drop({ event: eventOf(row), reason });
  }

  function takeOldest(kind: EventKind): EventRow | undefined {
    return totals.rows(kind) > 0 ? shed.get(kind) : undefined;
  }

  /** What follows from a row's end: the visitor's next event has its turn. */
  function left(row: EventRow, now: number): void {
    totals.add(row.kind, -1, -row.size);
    lines.leave(row, now);
  }

  /** Claims from one lane, at most `limit`. Leaves `more` behind where not all of its events could be looked at. */
  function claimFrom(lane: Lane, limit: number, pulse: number, now: number): EventRow[] {
    const { endpoint, newestFirst, newWithinMs, evenResting } = lane;
    const kind = kindOf(endpoint);
    const rows: EventRow[] = [];
    const missing = () => limit - rows.length;
    const since = newWithinMs === undefined ? 0 : now - newWithinMs;
    const take = () => {
      const found: EventRow[] = newestFirst
        ? claimNewest.all(owner, pulse, endpoint, missing(), since)
        : claimOldest.all(owner, pulse, endpoint, missing());
      rows.push(...found.sort((a, b) => (newestFirst ? b.seq - a.seq : a.seq - b.seq)));
    };
    // The newest are the last to line up.
    if (newestFirst) lines.lineUp(LINED_UP_AT_ONCE);
    take();
    for (let time = 0; missing() > 0 && time < TIMES && lines.hasMore(kind); time++) {
      lines.lineUp(LINED_UP_AT_ONCE);
      take();
    }
    if (missing() > 0 && lines.hasMore(kind)) more = true;
    else if (missing() > 0 && newWithinMs === undefined) {
      const tried = claimTried.all(owner, pulse, endpoint, missing(), evenResting ? FOREVER : now);
      rows.push(...tried.sort((a, b) => a.seq - b.seq));
    }
    return rows;
  }

  return {
    insert,
    append(event: OutboxEvent, now: number): "queued" | "duplicate" | "full" {
      if (!ids.learn(event.id)) return "duplicate";
      const json = JSON.stringify(event.data);
      const size = sizeOnDisk(event, json);
      if (insert(event, json, { queuedAt: event.createdAt, history: null, size }, now)) return "queued";
      ids.forget(event.id);
      return "full";
    },
    claim({ limit, lanes }: Capacity, pulse: number, now: number, life: number): DiskClaim[] {
      const claims: DiskClaim[] = [];
      more = false;
      for (const lane of lanes) {
        const most = Math.min(lane.limit, limit - claims.length);
        if (most <= 0 || totals.rows(kindOf(lane.endpoint)) === 0) continue;
        const rows = claimFrom(lane, most, pulse, now);
        claims.push(...rows.map((row) => claimOf(row, lane, { owner, life })));
        // What is less urgent waits until it is known what is more urgent.
        if (more && !lane.newestFirst) break;
      }
      return claims;
    },
    /** Gives a claimed event back as it was. Returns whether it was still claimed. */
    release({ seq, id, owner: by }: Claimed, now: number): boolean {
      if (release.run(seq, id, by, now).changes > 0) return true;
      return clear.run(seq, id).changes > 0;
    },
    /** Gives a claimed event back after an attempt, to be ready again at `readyAt`. */
    rest({ seq, id, owner: by }: Claimed, history: History, readyAt: number): void {
      rest.run(seq, id, by, JSON.stringify(history), Math.ceil(readyAt));
    },
    /** Takes it out, even if another process has claimed it meanwhile. */
    remove({ seq, id }: Claimed, now: number): EventRow | undefined {
      const row: EventRow | undefined = remove.get(seq, id);
      if (row) left(row, now);
      return row;
    },
    /** Takes it out, unless another process has claimed it meanwhile. */
    removeOwn({ seq, id, owner: by }: Claimed, now: number): EventRow | undefined {
      const row: EventRow | undefined = removeOwn.get(seq, id, by);
      if (row) left(row, now);
      return row;
    },
    oldest: (): number | null => oldest.get()?.created_at ?? null,
    /** When there may next be something to claim that there was not at the last claim. */
    nextReadyAt: (now: number): number | null => (more ? now : (nextReady.get(now)?.ready_at ?? null)),
  };
}

function claimOf(row: EventRow, lane: Lane, by: { owner: string; life: number }): DiskClaim {
  return {
    event: eventOf(row),
    lane,
    history: row.history === null ? UNTRIED : JSON.parse(row.history),
    interrupted: row.interrupted === 1,
    queuedAt: row.queued_at,
    seq: row.seq,
    ...by,
  };
}

export function eventOf({
  id,
  kind,
  data,
  created_at,
}: Pick<EventRow, "id" | "kind" | "data" | "created_at">) {
  return { id, kind, data: JSON.parse(data), createdAt: created_at } as OutboxEvent;
}

/** How many bytes a row takes in the file, with its id and its places in line: rather more than less. */
function sizeOnDisk({ id, data }: OutboxEvent, json: string): number {
  const visitor = (data.clickId?.length ?? 0) + (data.sessionId?.length ?? 0);
  const row = 80 + id.length + visitor + Buffer.byteLength(json);
  // A leaf of an index is two thirds full on average; a row that is a third of a page or longer may have one to itself.
  const aside = 1.5 * (80 + visitor);
  return Math.ceil(
    aside + (row < PAGE_BYTES / 3 ? 1.25 * row : PAGE_BYTES * Math.ceil((row + 600) / PAGE_BYTES)),
  );
}
