import { scratch } from "../../proof/shared/scratch.ts";
import { startGateway } from "../../proof/world/programs/gateway.ts";
import { startNginx } from "../../proof/world/programs/nginx.ts";
import { createDatabase, startCluster } from "../../test/helpers/cluster.ts";

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
      const postgres = needs === "postgres" && (await createDatabase(cluster, run)).connectionString;
      return { run, directory: scratch(), redis: redis?.port, postgres };
    },
    async stop() {
      await redis?.stop();
      await cluster?.destroy();
    },
  };
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
