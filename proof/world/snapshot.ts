import { setTimeout as sleep } from "node:timers/promises";
import { mysqlOutbox } from "express-affiliate/mysql";
import { postgresOutbox } from "express-affiliate/postgres";
import mysql from "mysql2/promise";
import pg from "pg";
import { type Kind, startServer } from "../outboxes/server.js";
import { type Figure, figuresOf } from "../shared/figures.js";
import { startService, wellAfter } from "../shared/service.js";
import { trackerOf } from "../shared/tracker.js";
import { inTurn } from "../shared/turn.js";
import type { Part } from "./shared/part.js";
import { paymentOf } from "./shared/payments.js";

const EVENTS_A_SECOND = 20;
const ANSWER_MS = 20;
/** Chosen: twice what was seen. */
const BLOCKS_AN_EVENT = 0.7;
/** Of the statement that looks for events. */
const CANDIDATES = "as step, '' as visitor";

/** The measurements of one minute, or of the time before the snapshot. */
interface Period {
  readonly name: string;
  readonly rate: number;
  readonly waiting: number;
  /** How many blocks each claim read that was looked at. */
  readonly blocks: readonly number[];
}

/** In short, one of the two, chosen by the commit. */
function kindsOf(short: boolean): readonly Kind[] {
  const both: readonly Kind[] = ["postgres", "mysql"];
  return short ? [inTurn("server", both)] : both;
}

export default {
  title: `another session holds a snapshot, as a dump does, while ${EVENTS_A_SECOND} events a second are reported`,
  async prove({ short, outbox }) {
    const load = { minutes: short ? 1 : 5, rate: EVENTS_A_SECOND };
    const figures: Figure[] = [];
    for (const kind of outbox ? [outbox] : kindsOf(short)) figures.push(...(await prove(kind, load)));
    return figures;
  },
} satisfies Part;

async function prove(kind: Kind, { minutes, rate }: { minutes: number; rate: number }): Promise<Figure[]> {
  const server = await startServer(kind);
  const service = await startService(wellAfter(() => ANSWER_MS));
  const blocks: number[] = [];
  const opened = kind === "postgres" ? openPostgres(server.uri, blocks) : openMysql(server.uri, blocks);
  const tracker = trackerOf(service.url, {
    outbox: opened.outbox,
    logger: { warn() {}, error: console.error },
  });
  const reporting = new AbortController();
  const reports = report(reporting.signal);
  await sleep(5_000);

  const before = await period("before", 20);
  const letGo = await opened.holdSnapshot();
  const during: Period[] = [];
  for (let minute = 1; minute <= minutes; minute++) during.push(await period(`minute ${minute}`, 60));
  await letGo();
  reporting.abort();
  await reports;
  await tracker.close();
  await opened.end();
  await service.goAway();
  await server.destroy();

  return [before, ...during].flatMap(({ name, rate, waiting, blocks }, nth) => {
    // Each claim reads past what the snapshot keeps: more with each event, and not by leaps.
    const most = BLOCKS_AN_EVENT * EVENTS_A_SECOND * 60 * nth;
    const [rates, reads] = nth === 0 ? [{}, {}] : [{ atLeast: 0.8 * before.rate }, { atMost: most }];
    const figures = figuresOf(
      `${kind}, ${name}`,
      ["delivered a second", Math.round(rate), rates],
      ["waiting at its end", waiting],
      ["blocks of a claim, the middle", middleOf(blocks), reads],
      ["blocks of a claim, the most", Math.max(...blocks)],
    );
    return blocks.length === 0 ? figures.slice(0, 2) : figures;
  });

  async function report(signal: AbortSignal): Promise<void> {
    const began = performance.now();
    for (let nth = 0; !signal.aborted; nth++) {
      const visitor = { clickId: `c${nth >> 1}`, sessionId: `s${nth >> 1}` };
      if (nth % 2 === 0) void tracker.trackClick({ affiliateReference: "ALICE" }, visitor);
      else void tracker.trackPayment(paymentOf(nth)[0], visitor);
      const isAheadMs = (nth / rate) * 1_000 - (performance.now() - began);
      if (isAheadMs > 0) await sleep(isAheadMs);
    }
  }

  async function period(name: string, seconds: number): Promise<Period> {
    blocks.length = 0;
    const delivered = tracker.stats().delivered;
    await sleep(seconds * 1_000);
    const delivering = (tracker.stats().delivered - delivered) / seconds;
    return { name, rate: delivering, waiting: tracker.stats().queued, blocks: [...blocks] };
  }
}

function middleOf(numbers: readonly number[]): number {
  return [...numbers].sort((a, b) => a - b)[numbers.length >> 1] ?? 0;
}

/** An outbox of which one claim a second is explained first, in a transaction that is undone. */
function openPostgres(uri: string, blocks: number[]) {
  const pool = new pg.Pool({ connectionString: uri, max: 12 });
  let nextAt = 0;

  async function explain({ text, values }: { text: string; values?: unknown[] }): Promise<void> {
    nextAt = performance.now() + 1_000;
    const client = await pool.connect();
    await client.query("begin");
    const { rows } = await client.query(`explain (analyze, buffers, format json) ${text}`, values);
    await client.query("rollback");
    client.release();
    const { Plan: plan } = rows[0]["QUERY PLAN"][0];
    blocks.push(plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]);
  }

  // The pool itself: one that inherits from it would keep a list of connections of its own, and `end` would wait for ever.
  const query = pool.query.bind(pool);
  Object.assign(pool, {
    async query(config: { text: string; values?: unknown[] }) {
      if (config.text.includes(CANDIDATES) && performance.now() >= nextAt) await explain(config);
      return query(config);
    },
  });
  return {
    outbox: postgresOutbox({ pool }),
    async holdSnapshot() {
      const client = await pool.connect();
      await client.query("begin isolation level repeatable read");
      await client.query("select count(*) from affiliate.events");
      return async () => {
        await client.query("commit");
        client.release();
      };
    },
    end: () => pool.end(),
  };
}

/** An outbox. Once a second, one of its searches for events is analysed before it runs. */
function openMysql(uri: string, blocks: number[]) {
  const pool = mysql.createPool({ uri, connectionLimit: 12 });
  let nextAt = 0;

  async function analyse(connection: mysql.PoolConnection, sql: string): Promise<void> {
    nextAt = performance.now() + 1_000;
    const [[row]] = await connection.query<mysql.RowDataPacket[]>(`analyze format=json ${sql}`);
    blocks.push(pagesIn(JSON.parse(row?.ANALYZE)));
  }

  const analysing: typeof pool = Object.assign(Object.create(pool), {
    async getConnection() {
      const connection = await pool.getConnection();
      return Object.assign(Object.create(connection), {
        async query(options: mysql.QueryOptions) {
          if (options.sql.includes(CANDIDATES) && performance.now() >= nextAt)
            await analyse(connection, options.sql);
          return connection.query(options);
        },
      });
    },
  });
  return {
    outbox: mysqlOutbox({ pool: analysing }),
    async holdSnapshot() {
      const client = await pool.getConnection();
      await client.query("start transaction with consistent snapshot");
      await client.query("select count(*) from affiliate_events");
      return async () => {
        await client.query("commit");
        client.release();
      };
    },
    end: () => pool.end(),
  };
}

/** The pages that a statement has read: the sum over its tables. */
function pagesIn(analysed: unknown): number {
  if (typeof analysed !== "object" || analysed === null) return 0;
  return Object.entries(analysed).reduce(
    (all, [key, value]) => all + (key === "pages_accessed" ? Number(value) : pagesIn(value)),
    0,
  );
}
