import pg from "pg";
import { startCluster } from "../../test/helpers/cluster.js";

/** PostgreSQL databases for recipes. */
export interface Databases {
  /** A new one, as the environment that a recipe reads. */
  create(): Promise<{ DATABASE_URL: string }>;
  close(): Promise<void>;
}

export async function startDatabases(): Promise<Databases> {
  const cluster = await startCluster({ fsync: "off" });
  const admin = new pg.Client({ connectionString: cluster.connectionString });
  await admin.connect();
  let count = 0;
  return {
    async create() {
      const name = `recipe_${++count}`;
      await admin.query(`create database ${name}`);
      return { DATABASE_URL: `postgres://postgres@${cluster.host}:${cluster.port}/${name}` };
    },
    async close() {
      await admin.end();
      await cluster.destroy();
    },
  };
}
