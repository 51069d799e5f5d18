import { type Gateway, startGateway } from "../../world/programs/gateway.js";

/** A shared cache before an app on a port of this machine. */
export interface CacheProgram {
  readonly name: string;
  start(appPort: number): Promise<Gateway>;
}

/** Keeps what the app allows, revalidates it in the background, and asks with GET for what a HEAD wants: nginx's defaults. */
const nginx = (appPort: number) => (port: number, directory: string) =>
  `
daemon off;
user root;
pid ${directory}/nginx.pid;
error_log ${directory}/error.log;
events {}
http {
  access_log off;
  ${["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map((of) => `${of}_temp_path ${directory}/${of};`).join("\n  ")}
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
  {
    name: "nginx",
    start: (appPort) => startGateway("nginx.conf", nginx(appPort), (path) => ["/usr/sbin/nginx", "-c", path]),
  },
  {
    name: "Varnish",
    start: (appPort) =>
      startGateway("default.vcl", varnish(appPort), (path, port, directory) => [
        "/usr/sbin/varnishd",
        "-F",
        // Otherwise its workers get a user of their own, who may not read this directory.
        "-j",
        "none",
        "-f",
        path,
        "-a",
        `127.0.0.1:${port}`,
        "-n",
        `${directory}/varnish`,
        "-s",
        "malloc,16m",
      ]),
  },
];
