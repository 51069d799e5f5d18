import { notBeforeOf, type OutboxEvent } from "../../conversion/events.js";
import { priorityOf } from "../../conversion/kinds.js";
import { endpointOf } from "../../service/endpoints.js";
import type { History } from "../claim.js";
import { CLICKS_OF_A_VISITOR } from "../outbox.js";
import type { Database, Statements, Value } from "./database.js";
import { CLAIMED, endpointNumber, RESTING, rankInSql, rankOf } from "./ranks.js";
import { asciiJson, marks, NEW, QUEUED, SCHEDULED } from "./rows.js";

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
}

/** What became of an event. `crowded`: stored, and its visitor has more clicks than may wait. */
export type Stored = "queued" | "crowded" | "duplicate";

/** A visitor's key, and the other names by which a later event finds it. */
interface Place {
  readonly visitor: string;
  readonly aliases: readonly string[];
}

const COLUMNS = [
  ...[
    "destination",
    "id",
    "state",
    "kind",
    "endpoint",
    "visitor",
    "alias",
    "alias_2",
    "created_at",
    "queued_at",
  ],
  ...["at_ms", "report", "data", "size", "amount", "history", "interrupted"],
];
// A server takes a statement of this size, whatever it makes of the values.
const MOST_BYTES = 256 * 1024;
const ROW_BYTES = 2 * 1024;
const SIZE = COLUMNS.indexOf("size");

/** A visitor's names: a session, a click id. An event that has neither is a visitor of its own. */
function namesOf({ id, destination, data: { clickId, sessionId } }: OutboxEvent): string[] {
  const names = [...(sessionId ? [`s${sessionId}`] : []), ...(clickId ? [`c${clickId}`] : [])];
  return (names.length > 0 ? names : [`e${id}`]).map((name) => `${destination} ${name}`);
}

function valuesOf(incoming: Incoming, state: number, { visitor, aliases }: Place, at: number): Value[] {
  const { event, report, queuedAt = event.createdAt, history } = incoming;
  const { id, destination, kind, data, createdAt } = event;
  const json = asciiJson(data);
  return [
    ...[destination, id, state, priorityOf(kind), endpointNumber(endpointOf(event))],
    ...[
      visitor,
      aliases[0] ?? null,
      aliases[1] ?? null,
      Math.round(createdAt),
      Math.round(queuedAt),
      Math.round(at),
    ],
    ...[report, json, json.length, "leadValue" in data ? data.leadValue : null],
    ...[history === undefined ? null : asciiJson(history), 0],
  ];
}

/** Stores events of one destination, each at the end of its visitor's queue. */
export function createEnqueue({ words }: Pick<Database, "words">) {
  const { events, queues, now } = words;
  const insertOf = (rows: readonly unknown[]) =>
    `insert into ${events} (${COLUMNS.join(", ")}) values ${marks(rows, `(${marks(COLUMNS)})`)}`;

  /** Each event's visitor: that of a live event with one of its ids, or a new one. */
  async function placesOf(tx: Statements, all: readonly OutboxEvent[]): Promise<Place[]> {
    const asked = [...new Set(all.flatMap((event) => (hasId(event) ? namesOf(event) : [])))];
    const known = new Map<string, string>();
    if (asked.length > 0) {
      // A look for each name: for a list of them, PostgreSQL reads a whole index of unknown size.
      const by = (column: "alias" | "alias_2") =>
        `(select min(e.visitor) from ${events} e${words.byAlias(column)}
          where e.state = ${QUEUED} and e.${column} is not null and e.${column} = n.name)`;
      const rows = await tx.rows(
        `with n (name) as (${words.list(asked.length)})
         select n.name, coalesce((select q.visitor from ${queues} q${words.byVisitor} where q.visitor = n.name),
           ${by("alias")}, ${by("alias_2")}) as visitor from n`,
        asked,
      );
      for (const { name, visitor } of rows) if (visitor !== null) known.set(name, visitor);
    }
    return all.map((event) => {
      const names = namesOf(event);
      const visitor =
        names.map((name) => known.get(name)).find((each) => each !== undefined) ?? (names[0] as string);
      for (const name of names) if (!known.has(name)) known.set(name, visitor);
      return { visitor, aliases: names.filter((name) => name !== visitor) };
    });
  }

  async function insert(tx: Statements, rows: readonly Value[][]): Promise<void> {
    for (let from = 0; from < rows.length; ) {
      let to = from;
      for (let bytes = 0; to < rows.length && bytes < MOST_BYTES; to++)
        bytes += ROW_BYTES + Number(rows[to]?.[SIZE]);
      const some = rows.slice(from, to);
      await tx.write(`${insertOf(some)} ${words.orIgnore("seq")}`, some.flat());
      from = to;
    }
  }

  /** Adds queues. Those that are there may become more urgent. */
  async function upsert(tx: Statements, rows: readonly Value[][]): Promise<void> {
    if (rows.length === 0) return;
    const { old, given } = words;
    const rises = `${given("urgency")} > ${old("urgency")}`;
    const isReady = `${old("turn")} not in (${RESTING}, ${CLAIMED})`;
    // `urgency` last: in MySQL, each assignment sees those before it.
    await tx.write(
      `insert into ${queues}${words.queueAlias} (destination, visitor, head, urgency, endpoint, tried, turn, due_at)
       values ${marks(rows, `(${marks(Array(8))})`)} ${words.orUpdate}
         due_at = case when ${rises} and ${isReady} and ${old("tried")} = 0 then ${given("due_at")} else ${old("due_at")} end,
         turn = case when ${rises} and ${isReady} then ${rankInSql(given("urgency"), old("tried"), old("endpoint"))} else ${old("turn")} end,
         urgency = case when ${rises} then ${given("urgency")} else ${old("urgency")} end`,
      rows.flat(),
    );
  }

  return {
    placesOf,
    /** Resolves to what became of each. */
    async enqueue(tx: Statements, incoming: readonly Incoming[]): Promise<Stored[]> {
      const [first] = incoming;
      if (!first) return [];
      const { destination } = first.event;
      const places = await placesOf(
        tx,
        incoming.map(({ event }) => event),
      );
      const time = incoming.some(({ event }) => notBeforeOf(event) !== undefined)
        ? Number((await tx.rows(`select ${now} as now`))[0].now)
        : 0;
      const isScheduled = ({ event, isDue }: Incoming) => !isDue && (notBeforeOf(event) ?? 0) > time;
      const inserted = incoming.map((each, nth) => {
        const place = places[nth] as Place;
        if (!isScheduled(each)) return valuesOf(each, QUEUED, place, each.event.createdAt);
        return valuesOf(each, SCHEDULED, place, notBeforeOf(each.event) as number);
      });
      await insert(tx, inserted);
      const ids = incoming.map(({ event }) => event.id);
      const clicks = `select count(*) from ${events} o${words.byVisitorAndKind}
        where o.visitor = e.visitor and o.state = ${QUEUED} and o.kind = ${priorityOf("click")}`;
      const found = await tx.rows(
        `select e.id, e.seq, e.report,
           case when e.kind = ${priorityOf("click")} and e.state = ${QUEUED} then (${clicks}) else 0 end as clicks
         from ${events} e where e.destination = ? and e.id in (${marks(ids)})`,
        [destination, ...ids],
      );
      // Of two in one batch, the first is stored.
      const rows = new Map(found.map((row) => [`${row.id} ${row.report}`, row]));
      const own = incoming.map(({ event, report }) => {
        const row = rows.get(`${event.id} ${report}`);
        rows.delete(`${event.id} ${report}`);
        return row;
      });
      const heads = new Map<string, Value[]>();
      for (const [nth, each] of incoming.entries()) {
        const row = own[nth];
        if (!row || isScheduled(each)) continue;
        const { event, history } = each;
        const { visitor } = places[nth] as Place;
        const urgency = priorityOf(event.kind);
        const head = heads.get(visitor);
        if (!head) {
          const wasTried = (history?.triedAt ?? 0) > 0;
          const endpoint = endpointNumber(endpointOf(event));
          // A dead letter that is retried is as if new.
          const since = Math.round(each.queuedAt ?? event.createdAt);
          heads.set(visitor, [
            ...[destination, visitor, Number(row.seq), urgency, endpoint, Number(wasTried)],
            ...[rankOf(urgency, wasTried, endpoint), since],
          ]);
        } else if (urgency > (head[3] as number)) {
          head[3] = urgency;
          head[6] = rankOf(urgency, head[5] === 1, head[4] as number);
          head[7] = Math.round(event.createdAt);
        }
      }
      // In one order, as all who lock several queues: otherwise they could deadlock.
      await upsert(
        tx,
        [...heads.keys()].sort().map((visitor) => heads.get(visitor) as Value[]),
      );
      return own.map((row) => {
        if (!row) return "duplicate";
        return Number(row.clicks) > CLICKS_OF_A_VISITOR ? "crowded" : "queued";
      });
    },
    /** An event without a place in a queue, for `Database.insertWithin`. */
    newRow(incoming: Incoming) {
      const { id, destination, createdAt } = incoming.event;
      const values = valuesOf(incoming, NEW, { visitor: "", aliases: [] }, createdAt);
      return {
        known: {
          text: `select 1 as known from ${events} where destination = ? and id = ?`,
          values: [destination, id],
        },
        insert: { text: insertOf([values]), values },
      };
    },
  };
}

function hasId({ data: { clickId, sessionId } }: OutboxEvent): boolean {
  return Boolean(clickId ?? sessionId);
}
