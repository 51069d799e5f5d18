const load = (entry) => import(new URL(`../../../dist/${entry}.js`, import.meta.url).href);

/**
 * This package at its defaults: nothing is awaited, and the end is as docs/production.md shows it,
 * with `flush` for a memory outbox. `open` gives the outbox, and what has to end after it.
 */
const ours = (name, { title, setUp, packages = [], entries = [] }, open) => ({
  ...{ name, title: `ours, ${title}`, setUp },
  packages: ["express-affiliate", ...packages],
  loads: ["index", ...entries].map((entry) => `../../dist/${entry}.js`),
  follows: ["docs/production.md#the-end-of-a-process"],
  async start(place) {
    const { affiliate, memoryOutbox } = await load("index");
    const { outbox = memoryOutbox(), end } = await open(place);
    const logger = { warn() {}, error() {} };
    const tracker = affiliate({ baseUrl: place.service, clientId: 1, outbox, logger });
    return {
      track({ visitor, paymentId, email, total }) {
        tracker.trackPayment({ paymentId, customerEmail: email, leadValue: total }, { sessionId: visitor });
      },
      async held() {
        return (await tracker.deadLetters.list({ limit: 10_000 })).map(({ event }) => event.customerEmail);
      },
      async close() {
        if (name === "memory") await tracker.flush({ timeoutMs: 5_000 });
        await tracker.close({ timeoutMs: 5_000 });
        await end?.();
      },
    };
  },
});

const inMemory =
  "`trackPayment()`, not awaited; by default `memoryOutbox()`. At the end `flush` and `close`, 5 s each";
export const memory = ours("memory", { title: "memory", setUp: inMemory }, () => ({}));

const onDisk = {
  title: "disk",
  setUp: "the same, with `diskOutbox({ directory })`. At the end `close`, 5 s",
  ...{ packages: ["@photostructure/sqlite"], entries: ["disk"] },
};
export const disk = ours("disk", onDisk, async ({ directory }) => {
  return { outbox: (await load("disk")).diskOutbox({ directory }) };
});

const inPostgres = {
  title: "Postgres",
  setUp: "the same, with `postgresOutbox({ pool })`; pg and PostgreSQL at their defaults",
  ...{ packages: ["pg"], entries: ["postgres"] },
};
export const postgres = {
  ...ours("postgres", inPostgres, async (place) => {
    const { default: pg } = await import("pg");
    const { postgresOutbox } = await load("postgres");
    const pool = new pg.Pool({ connectionString: place.postgres });
    pool.on("error", () => {});
    return { outbox: postgresOutbox({ pool }), end: () => pool.end() };
  }),
  needs: "postgres",
};
