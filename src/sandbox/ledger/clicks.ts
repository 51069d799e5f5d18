import type { ClickRequest } from "../endpoints.js";
import type { Click } from "./entries.js";
import type { Database } from "./sqlite.js";

/** The clicks in the ledger. A client-supplied click id names one click, the first that came with it. */
export function clicksTable(database: Database) {
  const all = database.prepare("select * from clicks order by id");
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
  const insert = database.prepare(
    `insert into clicks (at, affiliateReference, clickId, sessionId, clickedUrl, referrerUrl, userAgent, source)
     values (?, ?, ?, ?, ?, ?, ?, ?)`,
  );

  return {
    all: () => all.all().map(toClick),
    count: () => (count.get() as { count: number }).count,
    /** The last so many, and those that the last so many leads were linked to. */
    latest: (count: number) => latest.all(count, count).map(toClick),
    last: (count: number) => last.all(count).map(toClick),
    ofNumber: (id: number) => optional(byId.get(id)),
    ofClickId: (clickId: string) => optional(byClickId.get(clickId)),
    /** The last one until then: a visitor who came through two affiliates' links belongs to the later. */
    ofSession: (sessionId: string, until = "9999") => optional(lastOfSession.get(sessionId, until)),
    firstOfSession: (sessionId: string) => optional(firstOfSession.get(sessionId)),
    lastBefore: (at: string) => optional(lastBefore.get(at)),
    add(click: ClickRequest): Click {
      const { lastInsertRowid } = insert.run(
        new Date().toISOString(),
        click.affiliateReference,
        click.clickId ?? null,
        click.sessionId ?? null,
        click.clickedUrl ?? null,
        click.referrerUrl ?? null,
        click.userAgent ?? null,
        click.source ?? null,
      );
      return toClick(byId.get(Number(lastInsertRowid)));
    },
  };
}

function optional(row: unknown): Click | undefined {
  return row === undefined ? undefined : toClick(row);
}

function toClick(row: unknown): Click {
  return { kind: "click", ...(row as Omit<Click, "kind">) };
}
