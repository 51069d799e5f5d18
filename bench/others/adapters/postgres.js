import { follows, start } from "./tracker.js";

export default {
  name: "postgres",
  title: "ours, Postgres",
  setUp: "the same, with `postgresOutbox({ pool })`; pg and PostgreSQL at their defaults",
  isDurable: true,
  needs: "postgres",
  packages: ["express-affiliate", "pg"],
  loads: ["../../dist/index.js", "../../dist/postgres.js"],
  follows,
  async start(place) {
    const { default: pg } = await import("pg");
    const pool = new pg.Pool({ connectionString: place.postgres });
    pool.on("error", () => {});
    const tracking = await start(place, async (dist) =>
      (await import(`${dist}/postgres.js`)).postgresOutbox({ pool }),
    );
    return {
      ...tracking,
      async close() {
        await tracking.close();
        await pool.end();
      },
    };
  },
};
