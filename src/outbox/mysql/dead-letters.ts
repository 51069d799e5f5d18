import { objectFromJson } from "../../shared/json.js";
import { type History, UNTRIED } from "../claim.js";
import type { FoundLetter, LetterStatements, StoredLetter } from "../sql/dead-letters.js";
import { eventOf } from "../sql/event-rows.js";
import type { Database } from "./database.js";
import { ascii, binary, due, isOneOf, listOf, NOW } from "./literals.js";
import { insertsOf, KNOWN, LETTER_COLUMNS } from "./rows.js";
import { NOT_ENTERED, ownUrgency } from "./urgency.js";

type FoundRow = FoundLetter & { readonly seq: number };
type StoredRow = StoredLetter & FoundRow & { readonly history: string | null };

const ALL = 2 ** 53 - 1;
const OLDEST_FIRST = "due_at, seq";
const DOUBTFUL = ascii(JSON.stringify({ ...UNTRIED, maybeTaken: true }));

export function lettersIn(database: Database): LetterStatements<FoundRow> {
  const { prefix, events } = database;

  const letters = (which: string, order: string, limit: number) =>
    database.rows<StoredRow>(
      `select cast(destination as char) as destination, ${LETTER_COLUMNS}, history, size
       from ${events} where state = 'dead' and ${which} order by ${order} limit ${Math.min(limit, ALL)}`,
    );

  const these = (found: readonly FoundRow[]) => letters(isOneOf(found), "created_at, seq", ALL);

  /** Each becomes a new row, at the end of its visitor's queue. */
  async function revive(found: readonly FoundRow[], destination: number): Promise<StoredRow[]> {
    const rows = (await these(found)).filter(({ data }) => objectFromJson(data) !== undefined);
    return database.transact(async (connection) => {
      const locked = await connection.rows<{ seq: number }>(
        `select seq from ${events} where ${isOneOf(rows)} and state = 'dead' for update`,
      );
      const left = new Set(locked.map(({ seq }) => Number(seq)));
      const risen = rows.filter(({ seq }) => left.has(Number(seq)));
      if (risen.length === 0) return [];
      await connection.write(`delete from ${events} where ${isOneOf(risen)}`);
      const fresh = risen.map((row) => eventOf(row, destination));
      for (const text of insertsOf(prefix, fresh)) await connection.write(text);
      const idsOf = (some: readonly StoredRow[]) => `id in (${listOf(some.map(({ id }) => binary(id)))})`;
      await connection.write(
        `update ${events} set queued_at = ${NOW}, ${due(NOW)},
           history = if(${idsOf(risen.filter(isDoubtful))}, ${DOUBTFUL}, null)
         where destination = ${destination} and ${idsOf(risen)}`,
      );
      return risen;
    });
  }

  async function reviveInterrupted(found: readonly FoundRow[]): Promise<StoredRow[]> {
    const rows = (await these(found)).filter(isInterrupted);
    const revived = await database.write(
      `update ${events} set state = 'queued', urgency = if(history is null and ${ownUrgency()} > 1, ${NOT_ENTERED}, urgency),
         ${due(NOW)}, tried = (history is not null), reason = null, death = null
       where ${isOneOf(rows)} and state = 'dead' and reason = 'unconfirmed'`,
    );
    return revived === 0 ? [] : rows;
  }

  return {
    hasId: (id) => `id = ${binary(id)}`,
    list: (which, limit) => letters(which, OLDEST_FIRST, limit),
    ids: (which) =>
      database.rows(
        `select lower(hex(id)) as id from ${events} where state = 'dead' and ${which} order by ${OLDEST_FIRST}`,
      ),
    sums: (which) =>
      database.rows(
        `select cast(kind as char) as kind, cast(reason as char) as reason, count(*) as count, coalesce(sum(
           if(kind = 'payment' and json_valid(data), json_extract(data, '$.leadValue'), 0)
         ), 0) as amount
         from ${events} where state = 'dead' and ${which} group by kind, reason`,
      ),
    find: (which) =>
      database.rows(
        `select cast(destination as char) as destination, seq, lower(hex(id)) as id
         from ${events} where state = 'dead' and ${which} order by created_at, seq`,
      ),
    revive,
    reviveInterrupted,
    async remove(which, limit = ALL) {
      const removed: StoredRow[] = [];
      for (const row of await letters(which, OLDEST_FIRST, limit)) {
        const number = await database.transact(({ write }) =>
          write(`update ${events} set ${KNOWN} where ${isOneOf([row])} and state = 'dead'`),
        );
        if (number > 0) removed.push(row);
      }
      return removed;
    },
  };
}

function isDoubtful({ reason, history }: StoredRow): boolean {
  return reason === "unconfirmed" || (history !== null && (JSON.parse(history) as History).maybeTaken);
}

function isInterrupted({ reason, death }: StoredRow): boolean {
  return reason === "unconfirmed" && JSON.parse(death).code === "ERR_INTERRUPTED";
}
