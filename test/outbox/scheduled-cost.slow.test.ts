import { existsSync, readFileSync } from "node:fs";
import type pg from "pg";
import { describe, expect, test } from "vitest";
import { DESTINATION, sample, scheduledSample } from "../contract/samples.js";
import { Stage } from "../contract/stage.js";
import { openDisk } from "../helpers/disk-store.js";
import { describeWithMariaDbServer } from "../helpers/mysql.js";
import { describeWithPostgres } from "../helpers/postgres.js";
import { scratchDirectory } from "../helpers/scratch.js";
import { blocksOf, countingPages, meanOf } from "./sql/reads.js";

// How many payments wait for their `notBefore`.
const SCHEDULED = 100_000;
// How many ids of delivered events MariaDB has besides.
const DELIVERED = 300_000;
const PAYMENTS = 40;
// Scheduled payments count as waiting ones.
const MAX_EVENTS = 4 * SCHEDULED;
const HOUR_MS = 3_600_000;
const LONG_MS = 900_000;
const OWN_IO = "/proc/thread-self/io";

type Reads = Record<string, number>;

function expectSame(what: string, before: Reads, beside: Reads): void {
  console.info(`${what} beside none and ${SCHEDULED}: ${JSON.stringify([before, beside])}`);
  for (const [name, reads] of Object.entries(before)) {
    expect(reads, name).toBeGreaterThan(0);
    // Three pages more, if these are so few: an index may have got another level.
    expect(beside[name], name).toBeLessThanOrEqual(Math.max(1.1 * reads, reads + 3));
  }
}

/** Reports payments, of which each is delivered before the next. */
async function payEach(stage: Stage): Promise<void> {
  for (let nth = 0; nth < PAYMENTS; nth++) {
    const payment = sample("payment");
    await stage.add(payment);
    expect(await stage.delivery.deliverNext()).toBe(payment.id);
  }
}

describe.skipIf(!existsSync(OWN_IO))("on disk", () => {
  test(
    "a claim reads as many bytes of the file beside scheduled payments as beside none",
    () => {
      const disk = openDisk(scratchDirectory(), { maxBytes: 4 * 1024 ** 3 });
      const { db, store } = disk;
      const bytesRead = () => Number(/^rchar: (\d+)$/m.exec(readFileSync(OWN_IO, "latin1"))?.[1]);
      const ownBytes = -bytesRead() + bytesRead();

      function measure(): Reads {
        db.exec("pragma wal_checkpoint(truncate); pragma cache_size = 0");
        const reads = Array.from({ length: PAYMENTS }, () => {
          disk.append(sample("payment"));
          const before = bytesRead();
          const [claim] = disk.claim(8);
          const read = bytesRead() - before - ownBytes;
          if (claim) disk.settle(claim, { type: "delivered" });
          return read;
        });
        db.exec("pragma cache_size = -64000");
        return { claim: meanOf(reads) };
      }

      measure();
      const before = measure();
      for (let nth = 0; nth < SCHEDULED; nth += 1_000) {
        disk.append(...Array.from({ length: 1_000 }, () => scheduledSample(HOUR_MS)));
      }
      store.lookAfter();
      measure();
      const beside = measure();
      expect(disk.counts().scheduled?.count).toBe(SCHEDULED);
      expectSame("bytes of the file", before, beside);
      disk.close();
    },
    LONG_MS,
  );
});

describeWithPostgres("in Postgres", (database) => {
  const { create, sql } = database;

  // One connection: a new one first reads what the server has in its catalogue.
  let connected: Promise<pg.PoolClient> | undefined;

  async function read(text: string, values?: unknown[]): Promise<number> {
    connected ??= database.pool().connect();
    return blocksOf(await connected, text, values);
  }

  /** A pool that explains each claim before it runs it, in a transaction that is undone. */
  function explaining(pool: pg.Pool, blocks: number[]): pg.Pool {
    return Object.assign(Object.create(pool), {
      async query(config: { text: string; values?: unknown[] }, values?: unknown[]) {
        if (config.text?.includes(".claim(")) blocks.push(await read(config.text, config.values));
        return pool.query(config, values);
      },
    });
  }

  test(
    "a claim reads as many blocks beside scheduled payments as beside none, and so does a look for due ones",
    async () => {
      const blocks: number[] = [];
      const pool = explaining(database.pool(), blocks);
      await using stage = await Stage.open(() => create({ pool, listen: false, maxEvents: MAX_EVENTS }));
      stage.delivery.capacity = 8;
      stage.start();
      async function measure(): Promise<Reads> {
        await sql("vacuum analyze $schema.events");
        blocks.length = 0;
        await payEach(stage);
        const claim = meanOf(blocks);
        const look = `select ${database.schema}.release_due(${DESTINATION}, 3::smallint, 50)`;
        await read(look);
        return { claim, "look for due ones": await read(look) };
      }

      await measure();
      const before = await measure();
      await sql(
        `with waiting as (
           insert into $schema.scheduled (destination, id, not_before, data, created_at)
           select $1, gen_random_uuid(), now() + nth * interval '1 second' + interval '1 day',
             json_build_object('paymentId', 'p' || nth, 'sessionId', 's' || nth, 'leadValue', 1), now()
           from generate_series(1, ${SCHEDULED}) as nth returning id)
         insert into $schema.known_ids (destination, id, kind, reported_at) select $1, id, 'payment', now() from waiting`,
        [DESTINATION],
      );
      await sql("vacuum analyze $schema.scheduled");
      await sql("vacuum analyze $schema.known_ids");
      await measure();
      const beside = await measure();
      expect((await stage.outbox.look?.())?.scheduled?.count).toBe(SCHEDULED);
      expectSame("blocks of Postgres", before, beside);
    },
    LONG_MS,
  );
});

describeWithMariaDbServer("in MariaDB", (database) => {
  const STATEMENTS = {
    search: /3 as part, seq/,
    take: /set\s+interrupted = \(interrupted/,
    "look for due ones": /force index \(\S+\)\s+where state = 'scheduled'/,
  };
  type Statement = keyof typeof STATEMENTS;

  /** How many periods a search names: it looks into each. One if it names none. */
  function periodsIn(text: string): number {
    return /period in \(([^)]*)\)/.exec(text)?.[1]?.split(",").length ?? 1;
  }

  test(
    "a claim reads as many pages beside scheduled payments as beside one, and so does a look for due ones",
    async () => {
      const pages = { search: [], take: [], "look for due ones": [] } as Record<Statement, number[]>;
      const pool = countingPages(database.pool({ connectionLimit: 1 }), STATEMENTS, (name, read, sql) =>
        pages[name].push(read / periodsIn(sql)),
      );
      await using stage = await Stage.open(() => database.create({ pool, maxEvents: MAX_EVENTS }));
      stage.delivery.capacity = 8;
      stage.start();
      async function measure(): Promise<Reads> {
        await expect
          .poll(async () => (await database.sql("show engine innodb status"))[0].Status, { timeout: 60_000 })
          .toMatch(/History list length \d{1,2}\n/);
        for (const each of Object.values(pages)) each.length = 0;
        await payEach(stage);
        await expect.poll(() => pages["look for due ones"].length, { timeout: 10_000 }).toBeGreaterThan(3);
        // The least: the server reads pages for work of its own, too.
        return Object.fromEntries(Object.entries(pages).map(([name, each]) => [name, Math.min(...each)]));
      }

      async function insert(number: number, state: string, dueAt: string): Promise<void> {
        // A transaction of so many rows leaves the server time for others.
        for (let from = 0; from < number; from += 20_000) {
          await database.sql(
            `insert into $prefixevents
             (destination, id, state, kind, endpoint, urgency, click_id, session_id, data, created_at, queued_at, due_at, written_at)
           select ${DESTINATION}, unhex(md5(concat('${state}', seq))), '${state}', 'payment', 'lead/payment', 0, null, concat('s', seq),
             '{}', at, at, ${dueAt}, at
           from seq_${from + 1}_to_${from + 20_000}, (select floor(unix_timestamp() * 1000) as at) as now`,
          );
        }
      }

      // All events are rows of one table, and its indexes have two levels up to some 10,000 rows,
      // and three up to some millions.
      await insert(DELIVERED, "known", "at - seq");
      // Without a scheduled payment nobody looks for due ones.
      await stage.add(scheduledSample(HOUR_MS));
      await measure();
      const before = await measure();
      await insert(SCHEDULED, "scheduled", "at + 86400000 + 1000 * seq");
      await measure();
      const beside = await measure();
      expect((await stage.outbox.look?.())?.scheduled?.count).toBe(SCHEDULED + 1);
      expectSame("pages of MariaDB", before, beside);
    },
    LONG_MS,
  );
});
