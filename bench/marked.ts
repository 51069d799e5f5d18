import { DatabaseSync } from "@photostructure/sqlite";

const READ_AT_ONCE = 200;
const REMOVED_AT_ONCE = 256;
const GATHER_MS = 1;

interface Waiting {
  readonly seq: number;
  readonly body: string;
}

/**
 * The least that tells after `kill -9` what may have been sent, with SQLite: it keeps no order,
 * counts nothing, expects no failure and no other process. What was answered within a millisecond
 * is settled, and as many are marked as under way, by one transaction.
 *
 * @param places how many are under way at a time.
 */
export function createMarked(path: string, places: number, send: (body: string) => Promise<unknown>) {
  const db = new DatabaseSync(path);
  db.exec(`
    pragma journal_mode = wal;
    pragma synchronous = full;
    create table waiting (seq integer primary key, body text not null);
    create table state (under_way text not null);
    insert into state values ('[]');
  `);
  // Also keeps it open: statements alone do not.
  process.once("exit", () => db.close());
  const insert = db.prepare("insert into waiting (body) values (?)");
  const read = db.prepare(`select seq, body from waiting where seq > ? order by seq limit ${READ_AT_ONCE}`);
  const remove = db.prepare("delete from waiting where seq < ?");
  const mark = db.prepare("update state set under_way = ?");
  const begin = db.prepare("begin immediate");
  const commit = db.prepare("commit");
  const underWay = new Set<number>();
  const answered: number[] = [];
  let upcoming: Waiting[] = [];
  let lastRead = 0;
  let left = 0;
  let unremoved = 0;

  function next(): Waiting | undefined {
    if (upcoming.length === 0) {
      upcoming = (read.all(lastRead) as Waiting[]).reverse();
      lastRead = upcoming[0]?.seq ?? lastRead;
    }
    return upcoming.pop();
  }

  function turn(): readonly Waiting[] {
    const going: Waiting[] = [];
    begin.run();
    for (const seq of answered.splice(0)) underWay.delete(seq);
    while (underWay.size < places) {
      const first = next();
      if (!first) break;
      underWay.add(first.seq);
      going.push(first);
    }
    mark.run(JSON.stringify([...underWay]));
    if (unremoved >= REMOVED_AT_ONCE) {
      remove.run(Math.min(lastRead + 1, ...underWay));
      unremoved = 0;
    }
    commit.run();
    return going;
  }

  let timer: NodeJS.Timeout | undefined;

  function start(): void {
    timer = undefined;
    for (const { seq, body } of turn()) void send(body).then(() => settle(seq));
  }

  function settle(seq: number): void {
    answered.push(seq);
    unremoved++;
    left--;
    if (answered.length < underWay.size) {
      timer ??= setTimeout(start, GATHER_MS);
      return;
    }
    clearTimeout(timer);
    setImmediate(start);
  }

  return {
    store(bodies: readonly string[]): void {
      begin.run();
      for (const body of bodies) insert.run(body);
      commit.run();
      left += bodies.length;
    },
    /** Begins to deliver what is stored. */
    start,
    /** How many were not answered yet. */
    get left() {
      return left;
    },
  };
}
