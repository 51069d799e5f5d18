import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import pg from "pg";
import { scratch } from "../../proof/shared/scratch.ts";
import { startGateway } from "../../proof/world/programs/gateway.ts";
import { startNginx } from "../../proof/world/programs/nginx.ts";
import { programsOfPostgres, startCluster } from "../../test/helpers/cluster.ts";

const has = (program) => spawnSync("sh", ["-c", `command -v ${program}`]).status === 0;

/** What these adapters and scenarios need and this machine has not. Nothing is installed here. */
export function missing(pairs) {
  const needs = (what) => pairs.some(({ adapter, act }) => adapter.needs === what || act.name === what);
  const installs = pairs.some(
    ({ adapter: { packages } }) => packages && !packages.includes("express-affiliate"),
  );
  return [
    !existsSync("dist/index.js") && "the built package: npm run build",
    installs &&
      !existsSync("bench/others/node_modules/bullmq") &&
      "the other packages: npm install --ignore-scripts --prefix bench/others",
    needs("redis") && !has("redis-server") && "redis-server",
    needs("gateway") && !has("nginx") && "nginx",
    needs("postgres") && !programsOfPostgres() && "PostgreSQL's server, and pg_config",
  ].filter(Boolean);
}

/** The servers that these adapters need. */
export async function startServers(pairs) {
  const needs = (server) => pairs.some(({ adapter }) => adapter.needs === server);
  const redis = needs("redis") ? await startRedis() : undefined;
  const cluster = needs("postgres") ? await startCluster() : undefined;
  let runs = 0;
  return {
    /** A directory, a queue's name and a database of its own. */
    async placeFor({ needs }) {
      const run = `run_${++runs}`;
      const postgres = needs === "postgres" ? await createDatabase(cluster, run) : undefined;
      return { run, directory: scratch(), redis: redis?.port, postgres };
    },
    async stop() {
      await redis?.stop();
      await cluster?.destroy();
    },
  };
}

async function createDatabase({ connectionString }, name) {
  const client = new pg.Client({ connectionString });
  await client.connect();
  await client.query(`create database ${name}`);
  await client.end();
  return connectionString.replace(/[^/]*$/, name);
}

/** Redis with its append-only file, as BullMQ's guide for production asks. */
function startRedis() {
  const configuration = (port, directory) => `
    port ${port}
    bind 127.0.0.1
    dir ${directory}
    save ""
    appendonly yes
    maxmemory-policy noeviction`;
  return startGateway("redis.conf", configuration, (path) => ["redis-server", path]);
}

/** nginx before the service, at its defaults: it answers 502 while the service is down. */
export const startNginxBefore = (servicePort) =>
  startNginx(
    (port) =>
      `server { listen 127.0.0.1:${port}; location / { proxy_pass http://127.0.0.1:${servicePort}; } }`,
  );
