import pg from "pg";
import { startCluster } from "../../test/helpers/cluster.js";
import { startPgBouncer } from "./pgbouncer.js";

/** PostgreSQL databases for recipes. */
export interface Databases {
  /** A new one, as the environment that a recipe reads. */
  create(options: { pgbouncer: boolean }): Promise<{ DATABASE_URL: string }>;
  close(): Promise<void>;
}

export async function startDatabases(options: { pgbouncer: boolean }): Promise<Databases> {
  const cluster = await startCluster({ fsync: "off" });
  const pgbouncer = options.pgbouncer ? await startPgBouncer(cluster) : undefined;
  const admin = new pg.Client({ connectionString: cluster.connectionString });
  await admin.connect();
  let count = 0;
  return {
    async create(through) {
      const name = `recipe_${++count}`;
      await admin.query(`create database ${name}`);
      const port = through.pgbouncer ? pgbouncer?.port : cluster.port;
      return { DATABASE_URL: `postgres://postgres@${cluster.host}:${port}/${name}` };
    },
    async close() {
      await admin.end();
      await pgbouncer?.close();
      await cluster.destroy();
    },
  };
}
