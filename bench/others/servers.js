import { startGateway } from "../../proof/world/programs/gateway.ts";
import { startNginx } from "../../proof/world/programs/nginx.ts";

/** nginx before the service, at its defaults: it answers 502 while the service is down. */
export const startNginxBefore = (servicePort) =>
  startNginx(
    (port) =>
      `server { listen 127.0.0.1:${port}; location / { proxy_pass http://127.0.0.1:${servicePort}; } }`,
  );

/** Redis with its append-only file, as BullMQ's guide for production asks. */
export function startRedis() {
  const configuration = (port, directory) => `
    port ${port}
    bind 127.0.0.1
    dir ${directory}
    save ""
    appendonly yes
    maxmemory-policy noeviction`;
  return startGateway("redis.conf", configuration, (path) => ["redis-server", path]);
}
