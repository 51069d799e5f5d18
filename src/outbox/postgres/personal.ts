import type { FoundEvent, PersonalStorage } from "../personal-data.js";
import type { Counts } from "../sql/counts.js";
import type { EventRow } from "../sql/event-rows.js";
import { foundFrom } from "../sql/personal.js";
import type { Database } from "./database.js";
import { EVENT_COLUMNS } from "./rows.js";

interface FoundRow extends EventRow {
  readonly destination: string | number;
  readonly place: string;
  readonly is_under_way: boolean;
}

const AT_ONCE = 500;
const NO_EVENT = "00000000-0000-0000-0000-000000000000";

export function createPersonal(database: Database, counts: Counts): PersonalStorage {
  const { schema } = database;
  const select = (table: string, place: string, kind: string, isUnderWay: string, where: string) => `
    select destination::text, ${EVENT_COLUMNS.replace("kind", kind)}, ${place}::text as place, ${isUnderWay} as is_under_way
    from ${schema}.${table} as found where ($1::bigint is null or destination = $1) and ${where} limit ${AT_ONCE}`;
  const texts = {
    scheduled: select("scheduled", "id", "'payment' as kind", "false", "id > $2::text::uuid order by id"),
    events: select(
      "events",
      "seq",
      "kind",
      "coalesce(claimed_until > now(), false)",
      "seq > $2::text::bigint order by found.seq",
    ),
    dead_letters: select("dead_letters", "seq", "kind", "false", "seq > $2::text::bigint order by found.seq"),
  };

  return {
    async *pages(destination) {
      for (const [table, text] of Object.entries(texts)) {
        let place: string | undefined = table === "scheduled" ? NO_EVENT : "0";
        while (place !== undefined) {
          const values = [destination ?? null, place];
          const rows: FoundRow[] = await database.query<FoundRow>(text, values);
          yield rows.flatMap((row): FoundEvent[] => {
            const state = table === "dead_letters" ? "dead" : row.is_under_way ? "under-way" : "waiting";
            return foundFrom(row, Number(row.destination), state, table === "events" ? row.place : undefined);
          });
          place = rows.length < AT_ONCE ? undefined : rows.at(-1)?.place;
        }
      }
    },
    async remove(destination, found) {
      const [row] = await counts.during(() =>
        database.query<{ erased: number }>(`select ${schema}.erase($1, $2, $3) as erased`, [
          destination,
          found.map(({ id }) => id),
          found.flatMap(({ place }) => (place === undefined ? [] : [place])),
        ]),
      );
      await counts.take();
      return row?.erased ?? 0;
    },
  };
}
