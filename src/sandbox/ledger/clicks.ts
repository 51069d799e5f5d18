import type { RequestTo } from "../endpoints.js";
import type { Click } from "./entries.js";
import { type Database, inserter } from "./sqlite.js";

/** A client-supplied click id names the first click that came with it. */
export function clicksTable(database: Database) {
  const count = database.prepare("select count(*) as count from clicks");
  const latest = database.prepare(
    `select * from clicks
     where id in (select id from clicks order by id desc limit ?)
        or id in (select linkedClick from leads order by id desc limit ?)
     order by id`,
  );
  const last = database.prepare("select * from (select * from clicks order by id desc limit ?) order by id");
  const byId = database.prepare("select * from clicks where id = ?");
  const byClickId = database.prepare("select * from clicks where clickId = ?");
  const lastOfSession = database.prepare(
    "select * from clicks where sessionId = ? and at <= ? order by id desc limit 1",
  );
  const firstOfSession = database.prepare("select * from clicks where sessionId = ? order by id limit 1");
  const lastBefore = database.prepare("select * from clicks where at <= ? order by at desc, id desc limit 1");
  const insert = inserter(database, "clicks");

  return {
    count: () => (count.get() as { count: number }).count,
    /** The last so many, and those that the last so many leads were linked to. */
    latest: (count: number) => latest.all(count, count).map(toClick),
    /** The last so many, or all. */
    last: (count = -1) => last.all(count).map(toClick),
    ofNumber: (id: number) => optional(byId.get(id)),
    ofClickId: (clickId: string) => optional(byClickId.get(clickId)),
    /** The last until then: the later of two affiliates' links decides. */
    ofSession: (sessionId: string, until = "9999") => optional(lastOfSession.get(sessionId, until)),
    firstOfSession: (sessionId: string) => optional(firstOfSession.get(sessionId)),
    lastBefore: (at: string) => optional(lastBefore.get(at)),
    add: (click: RequestTo<"click">): Click =>
      toClick(byId.get(insert({ ...click, at: new Date().toISOString() }))),
  };
}

function optional(row: unknown): Click | undefined {
  return row === undefined ? undefined : toClick(row);
}

function toClick(row: unknown): Click {
  return { kind: "click", ...(row as Omit<Click, "kind">) };
}
