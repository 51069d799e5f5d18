import { startGateway } from "../../proof/world/programs/gateway.ts";

const TEMPORARY = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];

/** nginx before the service, at its defaults: it answers 502 while the service is down. */
export function startNginx(servicePort) {
  const configuration = (port, directory) => `
    pid ${directory}/pid; daemon off; worker_processes 1; error_log /dev/null;
    events { worker_connections 4096; }
    http {
      access_log off;
      ${TEMPORARY.map((of) => `${of}_temp_path ${directory}/${of};`).join(" ")}
      server { listen 127.0.0.1:${port}; location / { proxy_pass http://127.0.0.1:${servicePort}; } }
    }`;
  return startGateway("nginx.conf", configuration, (path) => ["nginx", "-c", path]);
}

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
