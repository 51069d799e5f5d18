import { namesOf, type OutboxEvent } from "../../conversion/events.js";
import type { Database, Statements } from "./database.js";
import { forLength, QUEUED } from "./rows.js";

/** Which visitor's queue an event joins, and behind what. */
export interface Place {
  /** The visitor's key. */
  readonly visitor: string;
  /** The other names by which a later event finds it. */
  readonly aliases: readonly string[];
  /** The highest `place` in the visitor's queue; 0 if it is empty. */
  readonly last: number;
}

/** The visitor's names, for the client id. */
function keysOf(event: OutboxEvent): string[] {
  return namesOf(event).map((name) => `${event.destination} ${name}`);
}

/** Finds events' visitors. */
export function createPlaces({ words }: Pick<Database, "words">) {
  const { events, queues } = words;
  // A look for each name: for a list of them, PostgreSQL reads a whole index of unknown size.
  const by = (column: "alias" | "alias_2") =>
    `(select min(e.visitor) from ${events} e${words.byAlias(column)}
      where e.state = ${QUEUED} and e.${column} is not null and e.${column} = n.name)`;
  const byKey = `(select q.visitor from ${queues} q${words.byVisitor} where q.visitor = n.name)`;
  const aliased = `${by("alias")}, ${by("alias_2")}`;
  // If two processes have stored two events of a session at the same moment, one may be in another
  // queue than that of the session's name, which may have none any more. `% s%` is any session's name:
  // no id has a space.
  const visitor = `case when n.name like ? then coalesce(${aliased}, ${byKey}) else coalesce(${byKey}, ${aliased}) end`;
  // With a limit, a planner looks for each visitor once.
  const select = forLength(
    ({ length }) => `with n (name) as (${words.list(length)})
      select v.name, v.visitor, (select q.place from ${queues} q${words.byVisitor} where q.visitor = v.visitor) as last
      from (select n.name, ${visitor} as visitor from n limit ${length}) as v
      where v.visitor is not null`,
  );

  /** Each event's visitor: that of a live event with one of its ids, or a new one. */
  return async function placesOf(tx: Statements, all: readonly OutboxEvent[]): Promise<Place[]> {
    const named = all.filter(({ data }) => data.clickId ?? data.sessionId);
    const names = [...new Set(named.flatMap(keysOf))];
    const known = new Map<string, Pick<Place, "visitor" | "last">>();
    if (names.length > 0) {
      const rows = await tx.rows<{ name: string; visitor: string; last: number | null }>(select(names), [
        ...names,
        "% s%",
      ]);
      for (const { name, visitor, last } of rows) known.set(name, { visitor, last: last ?? 0 });
    }
    return all.map((event) => {
      const names = keysOf(event);
      const found = names.map((name) => known.get(name)).find(Boolean);
      const { visitor, last } = found ?? { visitor: names[0] as string, last: 0 };
      for (const name of names) if (!known.has(name)) known.set(name, { visitor, last });
      return { visitor, last, aliases: names.filter((name) => name !== visitor) };
    });
  };
}
