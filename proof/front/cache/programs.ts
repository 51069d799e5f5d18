import { type Gateway, startGateway } from "../../world/programs/gateway.js";
import { startNginx } from "../../world/programs/nginx.js";

/** A shared cache before an app on this machine. `X-Cache: HIT` marks what it had kept. */
export interface CacheProgram {
  readonly name: string;
  start(appPort: number): Promise<Gateway>;
}

/** Keeps what the app allows, and revalidates behind. By default it asks with GET for a HEAD. */
const nginx = (appPort: number) => (port: number, directory: string) =>
  `
  proxy_cache_path ${directory}/cache keys_zone=pages:1m;
  server {
    listen 127.0.0.1:${port};
    location / {
      proxy_pass http://127.0.0.1:${appPort};
      proxy_set_header Host $http_host;
      proxy_set_header X-Forwarded-For $remote_addr;
      proxy_set_header X-Forwarded-Proto $scheme;
      proxy_cache pages;
      proxy_cache_lock on;
      proxy_cache_revalidate on;
      proxy_cache_use_stale updating error timeout;
      proxy_cache_background_update on;
      add_header X-Cache $upstream_cache_status;
    }
  }
`;

/** Its built-in rules. */
const varnish = (appPort: number) => () =>
  `
vcl 4.1;
backend app { .host = "127.0.0.1"; .port = "${appPort}"; }
sub vcl_deliver {
  if (obj.hits > 0) { set resp.http.X-Cache = "HIT"; } else { set resp.http.X-Cache = "MISS"; }
}
`;

export const cachePrograms: readonly CacheProgram[] = [
  { name: "nginx", start: (appPort) => startNginx(nginx(appPort)) },
  {
    name: "Varnish",
    start: (appPort) =>
      startGateway("default.vcl", varnish(appPort), (path, port, directory) => [
        "/usr/sbin/varnishd",
        "-F",
        // Otherwise its workers get a user of their own, who may not read this directory.
        ...["-j", "none"],
        ...["-f", path],
        ...["-a", `127.0.0.1:${port}`],
        ...["-n", `${directory}/varnish`],
        ...["-s", "malloc,16m"],
      ]),
  },
];
