import type { OutboxEvent } from "../../conversion/events.js";
import type { FoundEvent, PersonalStorage } from "../personal-data.js";
import type { Counts } from "../sql/counts.js";
import type { EventRow } from "../sql/event-rows.js";
import { foundFrom } from "../sql/personal.js";
import type { Database } from "./database.js";
import { integer, listOf, NOW } from "./literals.js";
import { CANCELLED, EVENT_COLUMNS, KNOWN } from "./rows.js";
import type { createVisitorQueue } from "./visitor-queue.js";

interface FoundRow extends EventRow {
  readonly seq: number;
  readonly destination: string | number;
  readonly state: "queued" | "scheduled" | "dead";
  readonly is_under_way: number;
}

const AT_ONCE = 500;
// Known ids lie between events: a statement skips so many at most.
const SCANNED_AT_ONCE = 50_000;

/** To search for a person's events. */
export function createPersonal(
  database: Database,
  { counts, queue }: { counts: Counts; queue: ReturnType<typeof createVisitorQueue> },
): PersonalStorage {
  const { events, eventsBySeq } = database;
  const isFree = `(claimed_by is null or due_at <= ${NOW})`;

  function page(after: number, destination: number | undefined): Promise<FoundRow[]> {
    const own = destination === undefined ? "true" : `destination = ${integer(destination)}`;
    return database.rows<FoundRow>(
      `select ${EVENT_COLUMNS}, destination, cast(state as char) as state,
         (state = 'queued' and not ${isFree}) as is_under_way
       from ${eventsBySeq}
       where seq > ${integer(after)} and seq <= ${integer(after + SCANNED_AT_ONCE)} and state <> 'known' and ${own}
       order by seq limit ${AT_ONCE}`,
    );
  }

  function found(row: FoundRow): FoundEvent[] {
    const state = row.state === "dead" ? "dead" : Number(row.is_under_way) ? "under-way" : "waiting";
    return foundFrom(row, Number(row.destination), state, Number(row.seq));
  }

  async function lastSeq(): Promise<number> {
    const [row] = await database.rows<{ last: number | null }>(`select max(seq) as last from ${events}`);
    return Number(row?.last ?? 0);
  }

  return {
    async *pages(destination) {
      // In their order: an event that moves on meanwhile comes again, as the last.
      for (let after = 0; after < (await lastSeq()); ) {
        const rows = await page(after, destination);
        yield rows.flatMap(found);
        after = rows.length < AT_ONCE ? after + SCANNED_AT_ONCE : Number(rows.at(-1)?.seq);
      }
    },
    async remove(_, all) {
      const seqs = listOf(all.map(({ place }) => integer(Number(place))));
      const keep = (columns: string, which: string) =>
        database.write(`update ${eventsBySeq} set ${columns} where seq in (${seqs}) and ${which}`);
      const removed = await counts.during(async () => {
        const others = await keep(CANCELLED, "state = 'scheduled'");
        const dead = await keep(KNOWN, "state = 'dead'");
        return others + dead + (await keep(KNOWN, `state = 'queued' and ${isFree}`));
      });
      const gone = all.map(({ event, ...each }) => ({ ...each, data: event }) as unknown as OutboxEvent);
      await queue.advance(gone);
      await counts.take();
      return removed;
    },
  };
}
