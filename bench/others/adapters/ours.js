const load = (entry) => import(new URL(`../../../dist/${entry}.js`, import.meta.url).href);
const follows = ["docs/production.md#the-end-of-a-process"];

/**
 * This package at its defaults: nothing is awaited, and the end is as docs/production.md shows it,
 * with `flush` for a memory outbox.
 */
async function start({ service }, outbox, { flushes = false } = {}) {
  const { affiliate } = await load("index");
  const logger = { warn() {}, error() {} };
  const tracker = affiliate({ baseUrl: service, clientId: 1, outbox, logger });
  return {
    track({ visitor, paymentId, email, total }) {
      tracker.trackPayment({ paymentId, customerEmail: email, leadValue: total }, { sessionId: visitor });
    },
    async held() {
      const letters = await tracker.deadLetters.list({ limit: 10_000 });
      return letters.map(({ event }) => event.customerEmail);
    },
    async close() {
      if (flushes) await tracker.flush({ timeoutMs: 5_000 });
      await tracker.close({ timeoutMs: 5_000 });
    },
  };
}

export const memory = {
  name: "memory",
  title: "ours, memory",
  setUp:
    "`trackPayment()`, not awaited; by default `memoryOutbox()`. At the end `flush` and `close`, 5 s each",
  packages: ["express-affiliate"],
  loads: ["../../dist/index.js"],
  follows,
  async start(place) {
    const { memoryOutbox } = await load("index");
    return start(place, memoryOutbox(), { flushes: true });
  },
};

export const disk = {
  name: "disk",
  title: "ours, disk",
  setUp: "the same, with `diskOutbox({ directory })`. At the end `close`, 5 s",
  packages: ["express-affiliate", "@photostructure/sqlite"],
  loads: ["../../dist/index.js", "../../dist/disk.js"],
  follows,
  async start(place) {
    const { diskOutbox } = await load("disk");
    return start(place, diskOutbox({ directory: place.directory }));
  },
};

export const postgres = {
  name: "postgres",
  title: "ours, Postgres",
  setUp: "the same, with `postgresOutbox({ pool })`; pg and PostgreSQL at their defaults",
  needs: "postgres",
  packages: ["express-affiliate", "pg"],
  loads: ["../../dist/index.js", "../../dist/postgres.js"],
  follows,
  async start(place) {
    const { default: pg } = await import("pg");
    const { postgresOutbox } = await load("postgres");
    const pool = new pg.Pool({ connectionString: place.postgres });
    pool.on("error", () => {});
    const tracking = await start(place, postgresOutbox({ pool }));
    return {
      ...tracking,
      async close() {
        await tracking.close();
        await pool.end();
      },
    };
  },
};
