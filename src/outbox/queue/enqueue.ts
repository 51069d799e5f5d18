import { notBeforeOf, type OutboxEvent } from "../../conversion/events.js";
import { priorityOf } from "../../conversion/kinds.js";
import { endpointOf } from "../../service/endpoints.js";
import { CLICKS_OF_A_VISITOR, type History } from "../outbox.js";
import type { Database, Statements, Value } from "./database.js";
import { createPlaces, type Place } from "./places.js";
import { CLAIMED, endpointNumber, RESTING, rankInSql, rankOf } from "./ranks.js";
import { asciiJson, type EventRow, forLength, marks, NEW, QUEUED, SCHEDULED, textOf } from "./rows.js";
import type { ShedClicks } from "./shedding.js";

/** An event that is to be stored. */
export interface Incoming {
  readonly event: OutboxEvent;
  /** Tells this report of the event from all others: what it has stored is no duplicate for it. */
  readonly report: string;
  /** Since when it waits. Default: since it happened. */
  readonly queuedAt?: number;
  readonly history?: History;
  /** Whether it enters its visitor's queue before its `notBefore`. */
  readonly isDue?: boolean;
  /** The number of its row, if it has one, and is in no queue. */
  readonly seq?: number;
}

/** What became of events. */
export interface Enqueued {
  readonly stored: readonly ("queued" | "duplicate")[];
  /** Clicks of visitors who have more than may wait, removed. */
  readonly shed: readonly OutboxEvent[];
}

// A server takes a statement of this size, whatever it makes of the values.
const MOST_BYTES = 256 * 1024;
const ROW_BYTES = 2 * 1024;
const CLICK = priorityOf("click");
/** The columns that change when an existing row gets its place. */
const OF_PLACE = [
  ...(["state", "visitor", "place", "alias", "alias_2", "created_at", "queued_at", "at_ms"] as const),
  "history",
] as const;

type Row = ReturnType<typeof rowOf>;

/** What is there with one of the new ids, and how many clicks its visitor has if it is one. */
type Found = Pick<EventRow, "destination" | "id" | "seq" | "state" | "report"> & { readonly clicks?: number };

function rowOf(incoming: Incoming, state: number, { visitor, aliases, last }: Place, at: number) {
  const { event, report, queuedAt = event.createdAt, history } = incoming;
  const { id, destination, kind, data, createdAt } = event;
  const text = textOf(event);
  // Written out, here and below: several spreads in one literal take V8 microseconds.
  return {
    destination,
    id,
    state,
    kind: priorityOf(kind),
    endpoint: endpointNumber(endpointOf(event)),
    visitor,
    place: last,
    alias: aliases[0] ?? null,
    alias_2: aliases[1] ?? null,
    created_at: Math.round(createdAt),
    queued_at: Math.round(queuedAt),
    at_ms: Math.round(at),
    report,
    data: text,
    size: text.length,
    amount: "leadValue" in data ? data.leadValue : null,
    history: history === undefined ? null : asciiJson(history),
    interrupted: 0,
  };
}

type Head = ReturnType<typeof headOf>;

/** The row of a queue that has this event alone. */
function headOf({ event, history, queuedAt }: Incoming, head: number, { visitor, last }: Place) {
  const { destination, kind, createdAt } = event;
  const urgency = priorityOf(kind);
  const wasTried = (history?.triedAt ?? 0) > 0;
  const endpoint = endpointNumber(endpointOf(event));
  return {
    destination,
    visitor,
    head,
    place: last,
    urgency,
    endpoint,
    tried: Number(wasTried),
    turn: rankOf(urgency, wasTried, endpoint),
    // A dead letter that is retried is as if new.
    due_at: Math.round(queuedAt ?? createdAt),
    has_more: 0,
  };
}

/** SQL: so many rows of these columns. */
function rowsInSql(rows: readonly object[]): string {
  const columns = Object.keys(rows[0] as object);
  return `(${columns.join(", ")}) values ${marks(rows, `(${marks(columns)})`)}`;
}

function valuesOf(rows: readonly object[]): Value[] {
  const values: Value[] = [];
  for (const row of rows) values.push(...Object.values(row));
  return values;
}

/** Gives events their places: each at the end of its visitor's queue. */
export function createEnqueue({ words }: Pick<Database, "words">, shedClicks: ShedClicks) {
  const { events, queues, now, old, given } = words;
  const placesOf = createPlaces({ words });
  const clicks = `select count(*) from ${events} o${words.byVisitorAndKind}
    where o.visitor = e.visitor and o.state = ${QUEUED} and o.kind = ${CLICK}`;

  const isMoreUrgent = `${given("urgency")} > ${old("urgency")}`;
  const isReady = `${old("turn")} not in (${RESTING}, ${CLAIMED})`;
  // `urgency` last: in MySQL, each assignment sees those before it.
  const orJoin = `${words.orUpdate}
    has_more = 1,
    place = case when ${given("place")} > ${old("place")} then ${given("place")} else ${old("place")} end,
    due_at = case when ${isMoreUrgent} and ${isReady} and ${old("tried")} = 0 then ${given("due_at")} else ${old("due_at")} end,
    turn = case when ${isMoreUrgent} and ${isReady} then ${rankInSql(given("urgency"), old("tried"), old("endpoint"))} else ${old("turn")} end,
    urgency = case when ${isMoreUrgent} then ${given("urgency")} else ${old("urgency")} end`;

  const lookUp = forLength(
    (ids) => `select e.destination, e.id, e.seq, e.state, e.report,
      case when e.kind = ${CLICK} and e.state = ${QUEUED} then (${clicks}) else 0 end as clicks
    from ${events} e where e.destination = ? and e.id in (${marks(ids)})`,
  );
  const returned = words.returning ? " returning destination, id, seq, state, report" : "";
  const insertEvents = forLength(
    (rows: readonly Row[]) => `insert into ${events} ${rowsInSql(rows)} ${words.orIgnore("seq")}${returned}`,
  );
  const insertQueues = forLength(
    (heads: readonly Head[]) => `insert into ${queues}${words.queueAlias} ${rowsInSql(heads)} ${orJoin}`,
  );

  /** What is there with these events' ids. */
  async function find(on: Statements, coming: readonly OutboxEvent[]): Promise<Found[]> {
    const ids = coming.map(({ id }) => id);
    const found: Found[] = [];
    for (const destination of new Set(coming.map((event) => event.destination)))
      found.push(...(await on.rows<Found>(lookUp(ids), [destination, ...ids])));
    return found;
  }

  async function insert(tx: Statements, rows: readonly Row[]): Promise<Found[]> {
    const inserted: Found[] = [];
    if (tx.insertOne) {
      for (const row of rows) {
        const { destination, id, state, report } = row;
        const seq = await tx.insertOne(insertEvents([row]), Object.values(row));
        if (seq > 0) inserted.push({ destination, id, seq, state, report });
      }
      return inserted;
    }
    for (let from = 0; from < rows.length; ) {
      let to = from;
      for (let bytes = 0; to < rows.length && bytes < MOST_BYTES; to++)
        bytes += ROW_BYTES + (rows[to] as Row).size;
      const some = rows.slice(from, to);
      if (words.returning) inserted.push(...(await tx.rows<Found>(insertEvents(some), valuesOf(some))));
      else await tx.write(insertEvents(some), valuesOf(some));
      from = to;
    }
    return inserted;
  }

  /** Gives rows that are there their places. */
  async function update(tx: Statements, batch: readonly Incoming[], rows: readonly Row[]): Promise<Found[]> {
    const set = OF_PLACE.map((column) => `${column} = ?`).join(", ");
    for (const [nth, row] of rows.entries()) {
      await tx.write(
        `update ${events} set ${set}, size = length(data), interrupted = 0, reason = null, death = null where seq = ?`,
        [...OF_PLACE.map((column) => row[column]), batch[nth]?.seq as number],
      );
    }
    return [];
  }

  /** Where events come that have rows: after those with a higher `seq`, too. */
  async function lastPlacesOf(tx: Statements, coming: readonly OutboxEvent[]): Promise<Place[]> {
    const lasts = new Map<string, number>();
    return (await placesOf(tx, coming)).map((place) => {
      const last = (lasts.get(place.visitor) ?? place.last) + 1;
      lasts.set(place.visitor, last);
      return { ...place, last };
    });
  }

  /**
   * Stores events, each at the end of its visitor's queue: all of them new, or all with rows that are
   * there. These keep their rows: in MySQL, a new row with an id that was just deleted waits for the
   * transaction that has inserted the next id.
   */
  async function enqueue(tx: Statements, batch: readonly Incoming[]): Promise<Enqueued> {
    if (batch.length === 0) return { stored: [], shed: [] };
    const isNew = batch[0]?.seq === undefined;
    const coming = batch.map(({ event }) => event);
    const places = await (isNew ? placesOf : lastPlacesOf)(tx, coming);
    const mayWait = coming.some((event) => notBeforeOf(event) !== undefined);
    const time = mayWait ? (await tx.rows(`select ${now} as now`))[0].now : 0;
    const written = batch.map((incoming, nth) => {
      const place = places[nth] as Place;
      const notBefore = incoming.isDue ? 0 : (notBeforeOf(incoming.event) ?? 0);
      if (notBefore > time) return rowOf(incoming, SCHEDULED, place, notBefore);
      return rowOf(incoming, QUEUED, place, incoming.event.createdAt);
    });
    let found = await (isNew ? insert(tx, written) : update(tx, batch, written));
    // What was there is not returned, nor the number of a visitor's clicks.
    if (found.length < batch.length || coming.some(({ kind }) => kind === "click")) {
      found = await find(tx, coming);
    }
    // Of two in one batch, the first is stored.
    const rows = new Map(found.map((row) => [`${row.destination} ${row.id} ${row.report}`, row]));
    const stored = batch.map(({ event, report }) => {
      const name = `${event.destination} ${event.id} ${report}`;
      const row = rows.get(name);
      rows.delete(name);
      return row;
    });
    const heads = new Map<string, Head>();
    for (const [nth, incoming] of batch.entries()) {
      const row = stored[nth];
      // A repeated append finds what it has stored, and that may have left its queue since.
      if (!row || row.state !== QUEUED) continue;
      const place = places[nth] as Place;
      const first = heads.get(place.visitor);
      const head = headOf(incoming, row.seq, place);
      if (!first) heads.set(place.visitor, head);
      else {
        first.place = place.last;
        first.has_more = 1;
        if (head.urgency > first.urgency) {
          first.urgency = head.urgency;
          first.turn = rankOf(head.urgency, first.tried === 1, first.endpoint);
          first.due_at = head.due_at;
        }
      }
    }
    // Adds queues; those that are there may become more urgent. In one order, as all who lock several
    // queues: otherwise they could deadlock.
    const sorted = [...heads.keys()].sort().map((visitor) => heads.get(visitor) as Head);
    if (sorted.length > 0) await tx.write(insertQueues(sorted), valuesOf(sorted));
    // Their queues are locked already.
    const crowded = places.filter((_, nth) => (stored[nth]?.clicks ?? 0) > CLICKS_OF_A_VISITOR);
    return {
      stored: stored.map((row) => (row ? "queued" : "duplicate")),
      shed: crowded.length > 0 ? await shedClicks(tx, crowded) : [],
    };
  }

  return {
    placesOf,
    find,
    enqueue,
    /** An event without a place in a queue, for `Database.insertWithin`. */
    newRow(incoming: Incoming) {
      const { id, destination } = incoming.event;
      const row = [rowOf(incoming, NEW, { visitor: "", aliases: [], last: 0 }, 0)];
      return {
        known: {
          text: `select 1 as known from ${events} where destination = ? and id = ?`,
          values: [destination, id],
        },
        insert: { text: `insert into ${events} ${rowsInSql(row)}`, values: valuesOf(row) },
      };
    },
  };
}
